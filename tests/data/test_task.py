import numpy as np
import pytest
import torch

from pgso.data.inputs import NARROW
from pgso.data.task import Task
from pgso.errors import InputError

PATH = {
    "edge_index": np.array([[0, 1, 1, 2], [1, 0, 2, 1]]),
    "x": np.eye(3),
    "y": np.array([0, 1, 0]),
    "split": tuple(np.array([i]) for i in range(3)),
    "classes": ("a", "b"),
}


def wide(density, rows=40, columns=NARROW + 36):
    x = np.zeros(rows * columns, dtype=np.float32)
    x[: int(density * len(x))] = 1
    return x.reshape(rows, columns)


def with_features(x, **changes):
    n = len(x)
    arrays = {"x": x, "y": np.arange(n) % 2, "split": (np.arange(n), np.arange(0), np.arange(0))}
    return Task.from_arrays("toy", **(PATH | arrays | changes))


def test_features_with_few_entries_are_stored_sparsely_and_hold_the_same():
    assert with_features(wide(0.2)).x.layout == torch.strided
    sparse = with_features(wide(0.05)).x
    assert sparse.layout == torch.sparse_csr
    assert np.array_equal(sparse.to_dense().numpy(), wide(0.05))


def test_narrow_features_and_those_of_batches_stay_dense():
    assert with_features(np.eye(NARROW)).x.layout == torch.strided
    sizes = {"nodes_per_graph": np.array([3, 37]), "y": np.array([0, 1])}
    parts = {"split": (np.arange(2), np.arange(0), np.arange(0))}
    assert with_features(wide(0.05), **sizes, **parts).x.layout == torch.strided


def test_a_task_moves_as_a_whole():
    moved = Task.from_arrays("toy", **PATH).to("meta")
    assert moved.x.device.type == moved.graph.device.type == moved.train.device.type == "meta"


def test_one_graph_makes_no_batches():
    with pytest.raises(InputError, match="toy is one graph"):
        Task.from_arrays("toy", **PATH).batch(torch.tensor([0]))


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"edge_index": np.array([[0], [3]])}, "a node id of the edges is 3, .* between 0 and 2"),
        ({"edge_index": np.array([[-1], [2]])}, "a node id of the edges is -1"),
        ({"x": np.array([[1], [np.nan], [0]])}, "features hold nan in row 1"),
        ({"x": np.array([[1], [0], [np.inf]])}, "features hold inf in row 2"),
        ({"edge_weight": np.array([1, 1, np.nan, 1])}, "edge weights hold nan in row 2"),
        ({"y": np.array([0, 1])}, "3 labels are needed"),
        ({"y": np.array([0, 1, 2])}, "a label is 2"),
        ({"y": np.array([0, -1, 1])}, "item 1 is part of the split but has no label"),
        ({"split": (np.array([0]), np.array([0]), np.array([1]))}, "item 0 is in more than one"),
        (
            {"split": (np.array([3]), np.array([0]), np.array([1]))},
            "index of the training set is 3",
        ),
        ({"split": (np.arange(0), np.array([0]), np.array([1]))}, "training set is empty"),
        ({"metric": "roc_auc", "classes": ("a", "b", "c")}, "roc_auc needs two classes"),
        (
            {
                "y": np.array([[1.0, np.nan], [2.0, 3.0], [4.0, 5.0]]),
                "split": (np.array([0]), np.array([1]), np.array([2])),
                "classes": (),
                "targets": ("height", "weight"),
                "metric": "rmse",
            },
            "no item of the training set has the target 'weight', which others have",
        ),
        ({"nodes_per_graph": np.array([1, 1])}, "the graphs have 2 nodes together"),
        (
            {"nodes_per_graph": np.array([1, 1, 1])},
            "from node 0 to node 1 joins graph 0 with graph 1",
        ),
    ],
)
def test_what_no_task_can_be_made_of_is_refused(changes, problem):
    with pytest.raises(InputError, match=problem):
        Task.from_arrays("toy", **(PATH | changes))
