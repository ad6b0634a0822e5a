import numpy as np
import pytest
import torch

from pgso.data import load_task
from pgso.errors import InputError

GOOD = {
    "edge_index": np.array([[0, 1, 2, 3, 4], [1, 2, 3, 4, 5]]),
    "x": np.arange(12.0).reshape(6, 2),
    "y": np.array([0, 1, 0, 1, 0, 1]),
    "train": np.array([0, 1]),
    "val": np.array([2, 3]),
    "test": np.array([4, 5]),
}


def save(folder, **changes):
    path = folder / "mine.npz"
    np.savez(path, **{key: value for key, value in (GOOD | changes).items() if value is not None})
    return path


def test_an_archive_is_a_task(tmp_path):
    task = load_task(save(tmp_path))
    assert (task.name, task.num_nodes, task.num_edges, task.num_classes) == ("mine", 6, 10, 2)
    assert task.x[1].tolist() == [2, 3]
    assert task.test.tolist() == [4, 5]


def test_words_masks_weights_and_directions(tmp_path):
    mask = np.array([True, True, False, False, False, False])
    path = save(
        tmp_path,
        y=np.array(["b", "a", "", "a", "b", "b"]),
        train=mask,
        val=mask[[2, 3, 4, 0, 5, 5]],
        test=np.array([4]),
        edge_weight=np.array([1, 2, 1, 1, 1]),
        x=None,
    )
    task = load_task(path, undirected=False)
    assert task.y.tolist() == [1, 0, -1, 0, 1, 1]
    assert task.train.tolist() == [0, 1]
    assert task.val.tolist() == [3]
    assert task.graph.edge_weight.tolist() == [1, 2, 1, 1, 1]
    assert torch.equal(task.x, torch.eye(6))


def test_unknown_integers_are_minus_one_and_the_seed_splits(tmp_path):
    y = np.array([-1, 0, 1, 0, 1, 0])
    task = load_task(save(tmp_path, y=y, train=None, val=None, test=None))
    assert task.y.tolist() == y.tolist()
    assert 0 not in torch.cat([task.train, task.val, task.test])


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"edge_index": None}, "has no array 'edge_index'; it has x, y"),
        ({"y": None}, "has no array 'y'"),
        ({"edge_index": np.array([[0, 9], [1, 1]])}, "a node id of 'edge_index' is 9"),
        ({"edge_index": np.array([[0, -1], [1, 1]])}, "a node id of 'edge_index' is -1"),
        ({"edge_index": np.array([[0.5], [1]])}, r"integers of shape \(2, E\), got float64"),
        ({"edge_index": np.array([[0, 1]])}, r"integers of shape \(2, E\)"),
        ({"x": np.ones((5, 2))}, r"'x' must be numbers of shape \(6, F\)"),
        ({"x": np.full((6, 1), np.nan)}, "features hold nan in row 0"),
        ({"y": np.zeros((6, 1), dtype=int)}, "'y' must be one integer or word per node"),
        ({"y": np.zeros(6, dtype=int)}, "two classes or more"),
        ({"y": np.array([None] * 6, dtype=object)}, "pickled"),
        ({"train": None}, "all of the arrays train, val, test"),
        ({"train": np.array([0, 7])}, "an index of the training set is 7"),
        ({"train": np.array([0, 2])}, "item 2 is in more than one part"),
        ({"train": np.array([0.5])}, "must be indices or masks"),
        ({"train": np.array([True, True])}, "must be indices or masks of 6 nodes"),
        ({"edge_weight": np.ones(2)}, "one number per edge"),
        ({"edge_weight": np.array([1, 1, 1, 1, np.inf])}, "edge weights hold inf"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, changes, problem):
    with pytest.raises(InputError, match=problem):
        load_task(save(tmp_path, **changes))


def test_numbers_are_a_regression_with_missing_ones(tmp_path):
    y = np.array([1.5, np.nan, 2.0, 3.0, 4.0, 5.0])
    np.savez(tmp_path / "graph.npz", edge_index=np.array([[0, 1], [1, 2]]), y=y)
    task = load_task(tmp_path / "graph.npz")
    assert (task.metric, task.answer, task.num_outputs) == ("rmse", "value", 1)
    assert 1 not in torch.cat([task.train, task.val, task.test])
    np.savez(tmp_path / "graph.npz", edge_index=np.array([[0], [1]]), y=np.stack([y, y], 1))
    assert load_task(tmp_path / "graph.npz").targets == ("0", "1")
