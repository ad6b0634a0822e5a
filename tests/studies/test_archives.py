"""Sources that are one archive each: the heterophilous graphs and the graphs of Shchur et al."""

import numpy as np
import pytest
import scipy.sparse

from pgso.data import load_task
from pgso.data.dataset import Sizes
from pgso.errors import InputError
from pgso_studies import archives as nodes

N = 12
EDGES = np.array([[0, 1], [1, 2], [2, 1], [5, 6]])


def save_tolokers(root, **changes):
    masks = np.zeros((3, 10, N), dtype=bool)
    for k in range(10):
        masks[np.roll(np.arange(N) % 3, k), k, np.arange(N)] = True
    arrays = {
        "node_features": np.eye(N, 4),
        "node_labels": np.arange(N) % 2,
        "edges": EDGES,
        "train_masks": masks[0],
        "val_masks": masks[1],
        "test_masks": masks[2],
    } | changes
    path = root / "Heterophilous" / "tolokers" / "raw" / "tolokers.npz"
    path.parent.mkdir(parents=True)
    np.savez(path, **arrays)


def test_heterophilous_graphs_are_undirected_with_ten_splits(tmp_path, monkeypatch):
    monkeypatch.setitem(nodes.HETEROPHILOUS, "Tolokers", Sizes(1, N, 6, 4, 2))
    save_tolokers(tmp_path)
    task = load_task("tolokers", root=tmp_path, seed=21)
    assert (task.metric, task.num_edges) == ("roc_auc", 6)
    assert task.graph.is_undirected
    assert task.train.tolist() == [1, 4, 7, 10]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"edges": np.array([[0, N]])}, f"a node id is {N}"),
        ({"edges": np.array([[0, 1, 2]])}, "do not fit"),
        ({"train_masks": np.ones((10, 3))}, "do not fit"),
        ({"node_labels": np.ones((2, 2))}, "'node_labels' must have 1 dimensions"),
        ({"node_features": np.ones((N, 2))}, "hold 12 nodes, but Tolokers has 11758"),
    ],
)
def test_wrong_heterophilous_files_are_one_clear_error(tmp_path, changes, problem):
    save_tolokers(tmp_path, **changes)
    with pytest.raises(InputError, match=problem):
        load_task("Tolokers", root=tmp_path)


def save_photo(root, **changes):
    ones = np.ones(len(EDGES))
    adjacency = scipy.sparse.csr_matrix((ones, EDGES.T), shape=(N, N))
    attributes = scipy.sparse.csr_matrix(3 * np.eye(N, 5))
    arrays = {"labels": np.arange(N) % 3}
    for name, matrix in (("adj", adjacency), ("attr", attributes)):
        for part in ("data", "indices", "indptr", "shape"):
            arrays[f"{name}_{part}"] = np.asarray(getattr(matrix, part))
    path = root / "Amazon" / "Photo" / "raw" / "amazon_electronics_photo.npz"
    path.parent.mkdir(parents=True)
    np.savez(path, **(arrays | changes), names=np.array(["pickled"], dtype=object))


def test_amazon_graphs_are_undirected_and_binary(tmp_path, monkeypatch):
    sizes = Sizes(1, N, 6, 5, 3)
    monkeypatch.setitem(nodes.SHCHUR, "Photo", (*nodes.SHCHUR["Photo"][:2], sizes))
    save_photo(tmp_path)
    task = load_task("photo", root=tmp_path)
    assert task.graph.is_undirected
    assert task.x.unique().tolist() == [0, 1]
    assert len(task.train) + len(task.val) + len(task.test) == N


@pytest.mark.parametrize(
    "changes", [{"adj_indices": np.array([0, 1, 99, 2])}, {"attr_indptr": np.array([0, 9])}]
)
def test_wrong_amazon_files_are_one_clear_error(tmp_path, changes):
    save_photo(tmp_path, **changes)
    with pytest.raises(InputError, match="holds a broken matrix"):
        load_task("Photo", root=tmp_path)


def test_a_smaller_graph_than_published_is_refused(tmp_path):
    save_photo(tmp_path)
    with pytest.raises(InputError, match="hold 12 nodes, but Photo has 7650"):
        load_task("Photo", root=tmp_path)
