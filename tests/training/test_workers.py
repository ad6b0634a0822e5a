"""Worker processes: one thread each, and deaf to Ctrl-C.

That they import nothing from the working folder is tested in ``tests/test_plugins.py``.
"""

import os
import signal
import time
import warnings

from pgso.records import RunRecord, RunSpec, Store
from pgso.training.engines import in_workers

# Workers import this file too: without tests.training.tasks they need not import PyG.
SPECS = [RunSpec(dataset="karate", seed=seed) for seed in range(3)]


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


def slow(spec):
    time.sleep(spec.seed)
    return RunRecord(spec=spec, val=0.5)


def test_who_stops_early_is_not_told_how_joblib_cancels(tmp_path):
    specs = [RunSpec(dataset="karate", seed=seed) for seed in (0, 60, 61)]
    records = in_workers(slow, specs, Store(tmp_path), 2)
    assert next(records).spec.seed == 0
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        started = time.monotonic()
        records.close()  # as Ctrl-C does
    assert shown == []
    assert time.monotonic() - started < 20
