from pgso.records import Store
from pgso.training.engines import run_all
from pgso.training.lockstep import runs
from tests.training.tasks import karate

MODES = ("fixed", "pgso", "mpgso")
SPECS = [karate(seed=seed, operator=name, epochs=3) for seed in range(3) for name in MODES]


def numbers(records):
    return [(r.spec, r.status, r.error, r.val, r.test, r.parameters, r.curves) for r in records]


def test_records_are_those_of_runs_alone_in_one_process_or_two(tmp_path, groups):
    alone = run_all(SPECS, Store(tmp_path / "alone"), lockstep=0)
    assert groups == []
    together = run_all(SPECS, Store(tmp_path / "together"))
    assert groups == [3, 3, 3]
    in_workers = run_all(SPECS, Store(tmp_path / "workers"), workers=2)
    assert numbers(alone) == numbers(together) == numbers(in_workers)


def test_what_has_a_record_is_not_run_again(tmp_path, groups):
    store = Store(tmp_path)
    run_all(SPECS[:4], store)
    seen = []
    run_all(SPECS, store, on_record=seen.append)
    assert {record.spec.key for record in seen} == {spec.key for spec in SPECS[4:]}
    assert groups == [2, 2, 2]  # fixed at first, then pgso and mpgso, and fixed alone


def test_a_run_that_diverges_has_the_record_that_it_has_alone(tmp_path):
    specs = [karate(seed=seed, lr=lr) for seed, lr in enumerate((0.01, 1e30, 0.01))]
    together = run_all(specs, Store(tmp_path / "together"))
    assert [record.status for record in together] == ["done", "diverged", "done"]
    assert numbers(together) == numbers(run_all(specs, Store(tmp_path / "alone"), lockstep=0))


def test_when_a_group_fails_each_run_is_tried_alone(tmp_path, monkeypatch):
    def crash(members):
        raise MemoryError

    monkeypatch.setattr(runs, "_records", crash)
    records = run_all(SPECS[:6], Store(tmp_path))
    assert [record.status for record in records] == ["done"] * 6


def test_the_variable_switches_it_off(tmp_path, groups, monkeypatch):
    monkeypatch.setenv("PGSO_LOCKSTEP", "0")
    run_all(SPECS[:6], Store(tmp_path))
    assert groups == []
