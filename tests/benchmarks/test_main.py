"""Measuring does not change what is published."""

import sys
from types import SimpleNamespace

import pytest
from benchmarks import __main__ as benchmarks

ROW = {"name": "a", "ours_ms": 1.0, "theirs_ms": 2.0, "ratio": 2.0, "target": ">= 2"}


@pytest.mark.parametrize("publish", [False, True])
def test_results_are_written_only_when_told_to_publish(tmp_path, monkeypatch, publish):
    monkeypatch.setitem(sys.modules, "benchmarks.toy", SimpleNamespace(run=lambda: [ROW]))
    for name in ("RUNS", "RESULTS"):
        monkeypatch.setattr(benchmarks, name, tmp_path / name)
    benchmarks.main([*(["--publish"] if publish else []), "toy"])
    written = [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.json")]
    assert written == ["RESULTS/toy.json" if publish else "RUNS/toy.json"]
