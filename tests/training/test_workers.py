import os
import sys

from pgso.records import RunRecord, Store
from pgso.training.workers import run_in_workers
from tests.training.tasks import karate

SPECS = [karate(seed=seed) for seed in range(3)]


def what_it_sees(spec, root):
    seen = {name: str(os.environ.get(name)) for name in ("PGSO_DATA", "OMP_NUM_THREADS")}
    seen["loaded"] = str("pgso.training.fit" in sys.modules)
    return RunRecord(spec=spec, val=0.5, versions=seen)


def seen_in(store):
    (seen,) = {
        tuple(sorted(record.versions.items()))
        for record in run_in_workers(what_it_sees, SPECS, None, 2, store)
    }
    return dict(seen)


def test_workers_are_forked_with_their_imports_done_and_have_one_thread(tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    seen = seen_in(Store(tmp_path))
    assert seen["loaded"] == "True"
    assert seen["OMP_NUM_THREADS"] == "1"
    assert os.environ["OMP_NUM_THREADS"] == "2"


def test_workers_of_a_later_pool_see_the_variables_of_now(tmp_path, monkeypatch):
    for value in ("here", "there"):
        monkeypatch.setenv("PGSO_DATA", value)
        assert seen_in(Store(tmp_path / value))["PGSO_DATA"] == value
    monkeypatch.delenv("PGSO_DATA")
    assert seen_in(Store(tmp_path / "gone"))["PGSO_DATA"] == "None"
