from pathlib import Path

from pgso.records import RunRecord, RunSpec
from pgso.records.numerics import NUMERICS
from pgso_studies.ledger import (
    POINTS,
    has_curves,
    read_ledger,
    set_aside_elsewhere,
    thinned,
    write_ledger,
)

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


def test_curves_that_a_page_shows_keep_their_points_and_others_only_their_ends():
    curves = {name: [float(epoch) for epoch in range(200)] for name in ("loss", "val")}
    run = RunRecord(spec=SPEC, curves=curves)
    assert thinned(run).curves == {"epoch": [0, 199], "loss": [0.0, 199.0], "val": [0.0, 199.0]}
    shown = thinned(run, ("val",))
    assert set(shown.curves) == {"epoch", "val"}
    assert POINTS <= len(shown.curves["val"]) <= POINTS + 1
    assert thinned(shown, ("val",)) == shown  # or a ledger would get shorter whenever it is written
    assert shown.curves["val"] == shown.curves["epoch"]
    assert has_curves(run, ("val",))
    assert has_curves(shown, ("val",))
    assert not has_curves(shown, ("val", "loss"))
    assert not has_curves(thinned(run), ("val",))
    assert thinned(shown).curves == {"epoch": [0, 199], "val": [0.0, 199.0]}


def test_a_short_curve_has_all_its_points():
    run = RunRecord(spec=SPEC, curves={"val": [0.1, 0.2, 0.3]})
    assert has_curves(thinned(run, ("val",)), ("val",))
