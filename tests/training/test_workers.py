import os
import shutil
import signal
import subprocess
import sys
import textwrap

import pytest

from pgso.records import RunRecord, Store
from pgso.training import workers
from pgso.training.workers import run_in_workers
from tests.training.tasks import karate

SPECS = [karate(seed=seed) for seed in range(3)]


def what_it_sees(specs, root):
    seen = {name: str(os.environ.get(name)) for name in ("PGSO_DATA", "OMP_NUM_THREADS")}
    seen["loaded"] = str("pgso.training.fit" in sys.modules)
    seen["deaf"] = str(signal.getsignal(signal.SIGINT) == signal.SIG_IGN)
    return [RunRecord(spec=spec, val=0.5, versions=seen) for spec in specs]


def seen_in(store):
    (seen,) = {
        tuple(sorted(record.versions.items()))
        for record in run_in_workers(what_it_sees, [SPECS[:1], SPECS[1:]], None, 2, store)
    }
    return dict(seen)


@pytest.mark.parametrize("forked", [True, False])
def test_workers_have_one_thread_and_leave_interrupts_to_us(forked, tmp_path, monkeypatch):
    if not forked:  # as where a socket has no place
        monkeypatch.setattr(workers, "start_loading", lambda: False)
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    before = signal.getsignal(signal.SIGINT)
    seen = seen_in(Store(tmp_path))
    assert seen["OMP_NUM_THREADS"] == "1"
    assert seen["deaf"] == "True"
    assert os.environ["OMP_NUM_THREADS"] == "2"
    assert signal.getsignal(signal.SIGINT) == before


@pytest.mark.skipif(sys.platform != "linux", reason="workers load for themselves")
def test_workers_are_forked_with_their_imports_done(tmp_path):
    assert seen_in(Store(tmp_path))["loaded"] == "True"


@pytest.mark.skipif(sys.platform != "linux", reason="workers load for themselves")
def test_what_lies_around_is_not_loaded_and_a_long_temporary_folder_does_not_matter(tmp_path):
    program = """
        import os
        from pgso.records import Store
        from pgso.training.engines import run_all
        from tests.training.tasks import karate

        if __name__ == "__main__":
            specs = [karate(seed=seed, epochs=1) for seed in range(2)]
            print(*[record.status for record in run_all(specs, Store("runs"), workers=2)])
    """
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "program.py").write_text(textwrap.dedent(program))
    (tmp_path / "profile.py").write_text("raise SystemExit('this must not be imported')")
    for folder in (tmp_path, tmp_path / ("long" * 25)):
        folder.mkdir(exist_ok=True)
        path = os.pathsep.join([os.getcwd(), os.environ.get("PYTHONPATH", os.getcwd())])
        environment = {**os.environ, "TMPDIR": str(folder), "PYTHONPATH": path}
        command = [sys.executable, tmp_path / "elsewhere" / "program.py"]
        shown = subprocess.check_output(command, cwd=tmp_path, env=environment, text=True)
        assert shown.split() == ["done", "done"]
        shutil.rmtree(tmp_path / "runs")


def test_workers_of_a_later_pool_see_the_variables_of_now(tmp_path, monkeypatch):
    for value in ("here", "there"):
        monkeypatch.setenv("PGSO_DATA", value)
        assert seen_in(Store(tmp_path / value))["PGSO_DATA"] == value
    monkeypatch.delenv("PGSO_DATA")
    assert seen_in(Store(tmp_path / "gone"))["PGSO_DATA"] == "None"
