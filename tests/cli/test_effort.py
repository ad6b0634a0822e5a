"""Worker processes are started where they pay."""

from pgso.cli.effort import edges_of, useful_workers
from pgso.records import RunSpec


def test_small_comparisons_stay_in_this_process(tmp_path):
    (tmp_path / "edges.csv").write_text("0,1\n" * 100)
    assert useful_workers([RunSpec(dataset=str(tmp_path))] * 12, 4) == 1
    assert useful_workers([RunSpec(dataset=str(tmp_path))] * 120, 4) == 4
    (tmp_path / "edges.csv").write_text("0000,1111\n" * 100_000)
    assert edges_of(str(tmp_path)) == 100_000
    assert useful_workers([RunSpec(dataset=str(tmp_path))] * 12, 4) == 4


def test_a_dataset_of_unknown_size_gets_its_workers():
    assert edges_of("sbm") is None
    assert useful_workers([RunSpec(dataset="sbm", seed=seed) for seed in range(3)], 8) == 3


def test_nothing_to_run_needs_no_workers():
    assert useful_workers([], 8) == 1
