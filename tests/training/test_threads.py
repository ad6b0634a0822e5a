"""The number of threads changes the order of sums; the command must not."""

import pytest
import torch

from pgso import fit
from pgso.data import load_task
from pgso.records import RunSpec, Store
from pgso.training import engines, pages
from pgso.training.engines import run_all
from tests.training.tasks import karate

SPEC = karate(conv="gat", epochs=3)
DIGITS = RunSpec(dataset="digits", epochs=2)  # whose neighbours are found by threads, too


@pytest.fixture(autouse=True)
def _two_threads(_one_thread):  # which brings back what there were
    torch.set_num_threads(2)


@pytest.mark.parametrize("spec", [SPEC, DIGITS], ids=["karate", "digits"])
def test_every_way_to_run_a_spec_takes_one_thread_and_gives_one_record(tmp_path, spec):
    records = [
        fit(spec),
        *run_all([spec], Store(tmp_path / "here")),
        run_all([spec, karate()], Store(tmp_path / "there"), workers=2)[0],
    ]
    assert [record.versions["threads"] for record in records] == ["1"] * 3
    assert records[0].without_times() == records[1].without_times() == records[2].without_times()
    assert torch.get_num_threads() == 2


def test_a_large_graph_takes_what_threads_there_are_unless_others_run_beside(tmp_path, monkeypatch):
    monkeypatch.setattr(engines, "MANY_EDGES", 1)
    assert fit(SPEC).versions["threads"] == "2"
    (record,) = run_all([SPEC], Store(tmp_path))
    assert record.versions["threads"] == "1"


def test_spectra_of_a_small_graph_do_not_keep_several_cores_busy(monkeypatch, tmp_path):
    used = []
    real = pages.density

    def watched(*args, **options):
        used.append(torch.get_num_threads())
        return real(*args, **options)

    monkeypatch.setattr(pages, "density", watched)
    pages.complete_spectra([fit(karate(epochs=2))], Store(tmp_path))
    assert set(used) == {1}
    assert torch.get_num_threads() == 2


def test_the_callers_random_numbers_are_left_alone():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    fit(SPEC)
    assert torch.equal(torch.rand(3), expected)


def test_neighbours_at_the_same_distance_are_chosen_alike_by_any_number_of_threads():
    by_two = load_task("digits").graph.edge_index
    with engines.one_thread():
        assert torch.equal(load_task("digits").graph.edge_index, by_two)
