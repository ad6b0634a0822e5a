import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from importlib import import_module
from pathlib import Path

import pytest

from pgso.errors import InputError
from pgso.records import RunRecord, Store
from pgso.training import engines
from pgso.training.engines import run_all, run_one, useful_workers
from tests.training.tasks import karate, shapes

SPECS = [karate(seed=seed, operator=name) for seed in range(2) for name in ("fixed", "pgso")]
BROKEN = karate(data_options={"colour": "red"})


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "runs")


def test_two_workers_give_the_records_of_one(store, tmp_path):
    specs = [*SPECS, BROKEN]
    alone = run_all(specs, Store(tmp_path / "alone"))
    together = run_all(specs, store, workers=2)
    assert [record.without_times() for record in together] == [
        record.without_times() for record in alone
    ]
    assert [record.spec for record in together] == specs


def test_a_run_that_fails_is_recorded_and_does_not_stop_the_others(store):
    records = run_all([SPECS[0], BROKEN, SPECS[1]], store)
    assert [record.status for record in records] == ["done", "failed", "done"]
    assert "karate has no option 'colour'" in records[1].error
    assert store.get(BROKEN) == records[1]


def test_an_error_of_ours_is_a_sentence_and_any_other_a_traceback(monkeypatch):
    assert "Traceback" not in run_one(BROKEN).error

    def crash(*_, **__):
        raise ZeroDivisionError("of all things")

    monkeypatch.setattr(import_module("pgso.training.fit"), "task_of", crash)
    error = run_one(SPECS[0]).error
    assert "Traceback" in error
    assert "of all things" in error


def test_only_what_is_missing_is_run_and_only_once(store, monkeypatch):
    run = []

    def spying(spec, root, device, out):
        run.append(spec)
        return RunRecord(spec=spec, val=0.5)

    monkeypatch.setattr(engines, "run_one", spying)
    store.put(RunRecord(spec=SPECS[1], val=0.25))
    seen = []
    records = run_all([*SPECS, SPECS[0]], store, on_record=seen.append)
    assert run == [SPECS[0], SPECS[2], SPECS[3]]
    assert [record.spec for record in seen] == run
    assert [record.val for record in records] == [0.5, 0.25, 0.5, 0.5, 0.5]
    run_all(SPECS, store)
    assert len(run) == 3


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"engine": "steam"}, "no engine is called 'steam'"),
        ({"workers": 0}, "at least 1, got 0"),
        ({"workers": 10**6}, "workers must be at most .* on this machine, got 1000000"),
        ({"address": "auto"}, "choose engine ray, not local"),
    ],
)
def test_a_wrong_engine_is_refused(store, wrong, sentence):
    with pytest.raises(InputError, match=sentence):
        run_all(SPECS, store, **wrong)


# What follows needs processes that are really killed. A sweep is a program of its own, whose runs
# take as long as their specs have epochs (in tenths of a second), or kill their process at seed 13.

SWEEP = """
    import os, signal, sys, time
    from functools import partial
    from pathlib import Path
    from pgso.records import RunRecord, RunSpec, Store

    def slow_run(spec, root):
        (Path(root) / f"{spec.seed}.{os.getpid()}").touch()
        if spec.seed == 13:
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(spec.epochs / 10)
        return RunRecord(spec=spec, val=0.5)

    if __name__ == "__main__":
        from pgso.training import engines
        signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs ignore it
        root, out, workers, *sweep = sys.argv[1:]
        engines.run_one = lambda spec, root, device, out: slow_run(spec, root)
        specs = [RunSpec(dataset="karate", seed=int(seed), epochs=int(epochs))
                 for seed, epochs in (run.split(":") for run in sweep)]
        records = engines.run_all(specs, Store(out), root, workers=int(workers))
        print(*[record.status for record in records])
"""


class Sweep:
    """A sweep in a process of its own."""

    def __init__(self, folder: Path, workers: int, *runs: str) -> None:
        program = folder / "sweep.py"
        program.write_text(textwrap.dedent(SWEEP))
        self.started, self.out = folder / "started", folder / "runs"
        self.started.mkdir(exist_ok=True)
        self.process = subprocess.Popen(
            [sys.executable, program, self.started, self.out, str(workers), *runs],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,  # a process group of its own, as in a terminal
        )

    def wait_for(self, under_way: set[int], done: set[int]) -> None:
        """Until these runs have been started, and those have their records."""
        deadline = time.monotonic() + 60
        while not (under_way <= set(self.runs_started()) and done <= self.records()):
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < deadline, "the sweep does not get on"
            time.sleep(0.02)

    def records(self) -> set[int]:
        return {record.spec.seed for record in Store(self.out)}

    def workers(self) -> set[int]:
        return {int(path.suffix[1:]) for path in self.started.iterdir()} - {self.process.pid}

    def runs_started(self) -> set[int]:
        return {int(path.stem) for path in self.started.iterdir()}

    def end(self) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def wait_until_gone(pids: set[int]) -> None:
    assert pids
    deadline = time.monotonic() + 30
    while any(alive(pid) for pid in pids):
        assert time.monotonic() < deadline, "processes are left behind"
        time.sleep(0.02)


QUICK, LONG = "1", "600"


def test_a_killed_sweep_loses_what_was_under_way_and_goes_on_with_the_rest(tmp_path):
    sweep = Sweep(tmp_path, 2, f"0:{QUICK}", f"1:{LONG}", f"2:{QUICK}", f"3:{LONG}", f"4:{QUICK}")
    sweep.wait_for(under_way={1, 3}, done={0, 2})
    os.kill(sweep.process.pid, signal.SIGKILL)
    sweep.end()
    assert sweep.records() == {0, 2}
    wait_until_gone(sweep.workers())
    for path in sweep.started.iterdir():
        path.unlink()
    again = Sweep(tmp_path, 2, *[f"{seed}:{QUICK}" for seed in (0, 2, 4, 5)])
    code, out, err = again.end()
    assert code == 0, err
    assert out.split() == ["done"] * 4
    assert again.runs_started() == {4, 5}


def test_ctrl_c_ends_at_once_and_leaves_no_process_behind(tmp_path):
    sweep = Sweep(tmp_path, 2, f"0:{QUICK}", f"1:{LONG}", f"2:{LONG}", f"3:{LONG}")
    sweep.wait_for(under_way={1, 2}, done={0})
    os.killpg(sweep.process.pid, signal.SIGINT)  # as a terminal does: to parent and workers alike
    code, _, err = sweep.end()
    assert code != 0
    assert err.count("Traceback") == 1  # the parent's own KeyboardInterrupt
    assert "KeyboardInterrupt" in err
    assert sweep.records() == {0}
    assert not any(alive(pid) for pid in sweep.workers())


def test_a_run_that_kills_its_worker_is_recorded_and_does_not_stop_the_others(tmp_path):
    sweep = Sweep(tmp_path, 2, *[f"{seed}:{QUICK}" for seed in (0, 13, 1, 2, 3, 4, 5, 6)])
    code, out, err = sweep.end()
    assert code == 0, err
    assert out.split() == ["done", "failed", *["done"] * 6]
    (failed,) = [record for record in Store(sweep.out) if record.status == "failed"]
    assert failed.spec.seed == 13
    assert "the process of this run was killed" in failed.error


def test_two_sweeps_on_one_store_do_not_collide(tmp_path):
    runs = [f"{seed}:{QUICK}" for seed in range(8)]
    sweeps = [Sweep(tmp_path, 1, *order) for order in (runs, runs[::-1])]
    for sweep in sweeps:
        code, out, err = sweep.end()
        assert code == 0, err
        assert out.split() == ["done"] * 8
    assert sweeps[0].records() == set(range(8))
    assert len(list((tmp_path / "runs" / "records").iterdir())) == 8  # no temporary files


@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_ray_gives_the_records_of_one_process(store, tmp_path, monkeypatch, shapes_root):
    ray = pytest.importorskip("ray")
    monkeypatch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    monkeypatch.delenv("PGSO_DATA", raising=False)
    specs = [SPECS[0], BROKEN, SPECS[3], shapes(epochs=1)]
    alone = run_all(specs, Store(tmp_path / "alone"), shapes_root)
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    monkeypatch.setenv("PGSO_DATA", os.path.relpath(shapes_root))  # too late for Ray's workers
    try:
        on_ray = run_all(specs, store, engine="ray")
    finally:
        ray.shutdown()
    assert [record.without_times() for record in on_ray] == [
        record.without_times() for record in alone
    ]
    assert [record.status for record in on_ray] == ["done", "failed", "done", "done"]


def test_without_ray_the_engine_says_what_to_install(store, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"pip install 'pgso\[cluster\]'"):
        run_all(SPECS, store, engine="ray")


def test_a_wrong_address_of_a_cluster_is_one_sentence_at_once(tmp_path):
    pytest.importorskip("ray")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nobody = f"127.0.0.1:{free.getsockname()[1]}"
    for address in (nobody, f"ray://{nobody}", "foo", "host:port", "foo:99999"):
        with pytest.raises(InputError, match="Ray cluster"):
            run_all([karate(epochs=1)], Store(tmp_path), engine="ray", address=address)


def test_small_comparisons_stay_in_this_process():
    assert useful_workers(SPECS * 3, 4, num_edges=100) == 1
    assert useful_workers(SPECS * 3, 4, num_edges=10**9) == 4
    assert useful_workers([], 8) == 1


def test_a_dataset_of_unknown_size_gets_its_workers():
    assert useful_workers([karate(dataset="sbm", seed=seed) for seed in range(3)], 8) == 3
