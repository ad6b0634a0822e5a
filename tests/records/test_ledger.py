from pathlib import Path

from pgso.records import RunRecord, RunSpec
from pgso.records.ledger import POINTS, read_ledger, set_aside_elsewhere, thinned, write_ledger
from pgso.records.numerics import NUMERICS

SPEC = RunSpec(dataset="karate")


def record(seed: int, test: float, numerics: int = NUMERICS) -> RunRecord:
    return RunRecord(spec=SPEC.but(seed=seed), test=test, numerics=numerics)


def test_an_older_result_of_the_same_spec_leaves_the_other_ledgers(tmp_path: Path):
    mine, other = (tmp_path / name / "records.jsonl" for name in ("mine", "other"))
    write_ledger(mine, [record(0, 0.9)])
    write_ledger(other, [record(0, 0.5, NUMERICS - 1), record(1, 0.6, NUMERICS - 1)])
    aside = other.with_name(f"records.{NUMERICS - 1}.jsonl")
    assert set_aside_elsewhere(mine, [record(0, 0.9)]) == {aside: 1}
    assert [r.test for r in read_ledger(mine).values()] == [0.9]
    assert [r.test for r in read_ledger(other).values()] == [0.6]
    assert [r.test for r in read_ledger(aside).values()] == [0.5]


def test_a_current_result_elsewhere_stays(tmp_path: Path):
    mine, other = (tmp_path / name / "records.jsonl" for name in ("mine", "other"))
    write_ledger(other, [record(0, 0.9)])
    assert set_aside_elsewhere(mine, [record(0, 0.9)]) == {}
    assert len(read_ledger(other)) == 1


def test_a_thinned_curve_keeps_its_ends():
    curves = {name: [float(e) for e in range(200)] for name in ("loss", "val")}
    short = thinned(RunRecord(spec=SPEC, curves=curves)).curves
    assert len(short["loss"]) <= POINTS + 1
    assert (short["loss"][0], short["loss"][-1]) == (0.0, 199.0)
    assert short["epoch"] == short["val"]
