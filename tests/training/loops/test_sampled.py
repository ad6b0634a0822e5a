"""Sampled training is full-batch training with noise: none where all neighbours are drawn."""

import pytest
import torch

from pgso.errors import InputError
from pgso.records import RunSpec
from pgso.training.fit import fit
from tests.training.tasks import minesweeper, shapes

EXACT = {"dropout": 0.0, "epochs": 4}


@pytest.mark.parametrize("recipe", ["paper", "robust"])
def test_all_nodes_with_all_neighbours_train_as_the_whole_graph(recipe):
    whole = fit(minesweeper(**EXACT, recipe=recipe))
    sampled = fit(minesweeper(**EXACT, recipe=recipe, sample=(-1, -1), batch_size=1000))
    for curve in ("loss", "parameters"):
        mine, theirs = (torch.tensor(record.curves[curve]) for record in (sampled, whole))
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-5)


def test_the_same_sampled_run_gives_the_same_record():
    spec = minesweeper(sample=(3, 2), batch_size=10, norm="batch")
    assert fit(spec).without_times() == fit(spec).without_times()


def test_a_layer_without_a_number_of_neighbours_is_refused():
    with pytest.raises(InputError, match="each of the 3 layers, got 4,3"):
        fit(minesweeper(sample=(4, 3), num_layers=3))


def test_graphs_have_no_neighbours_to_sample(shapes_root):
    with pytest.raises(InputError, match="within one graph"):
        fit(shapes(sample=(4, 3)), shapes_root)


def test_sampled_batches_are_larger_unless_told_otherwise():
    assert RunSpec(dataset="karate", sample=(3, 2)).batch_size == 1024
    assert RunSpec(dataset="karate", sample=(3, 2), batch_size=8).batch_size == 8
    assert RunSpec(dataset="karate").batch_size == 32
