"""Worker processes: one thread each, deaf to Ctrl-C, and nothing imported that lies around."""

import os
import signal
import subprocess
import sys
import time
import warnings

from pgso.records import RunRecord, Store
from pgso.training.engines import in_workers
from tests.training.tasks import karate

SPECS = [karate(seed=seed) for seed in range(3)]


def what_it_sees(spec):
    import torch

    seen = {"threads": str(torch.get_num_threads())}
    seen["deaf"] = str(signal.getsignal(signal.SIGINT) == signal.SIG_IGN)
    return RunRecord(spec=spec, val=0.5, versions=seen)


def test_workers_have_one_thread_and_leave_interrupts_to_us(tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    before = signal.getsignal(signal.SIGINT)
    for record in in_workers(what_it_sees, SPECS, Store(tmp_path), 2):
        assert record.versions == {"threads": "1", "deaf": "True"}
    assert os.environ["OMP_NUM_THREADS"] == "2"
    assert signal.getsignal(signal.SIGINT) == before


def test_what_lies_around_is_not_imported(tmp_path):
    for name in ("profile", "numpy", "statistics"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('this must not be imported')")
    program = (
        "import sys; sys.path.remove(''); from pgso.training import engines; "
        "engines.WORTH_WORKERS = 0.0; from pgso.__main__ import main; main()"
    )
    options = ["--epochs", "2", "--seeds", "1", "--workers", "2", "--no-reference"]
    command = [sys.executable, "-c", program, "compare", "karate", *options]
    shown = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert shown.returncode == 0, shown.stderr
    assert {record.status for record in Store(tmp_path / "runs")} == {"done"}


def slow(spec):
    time.sleep(spec.seed)
    return RunRecord(spec=spec, val=0.5)


def test_who_stops_early_is_not_told_how_joblib_cancels(tmp_path):
    records = in_workers(slow, [karate(seed=s) for s in (0, 60, 61)], Store(tmp_path), 2)
    assert next(records).spec.seed == 0
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        started = time.monotonic()
        records.close()  # as Ctrl-C does
    assert shown == []
    assert time.monotonic() - started < 20
