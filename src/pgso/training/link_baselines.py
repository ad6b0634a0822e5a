"""What a link model must beat: chance, similar features, and common neighbours."""

from collections.abc import Iterator

import numpy as np
import scipy.sparse
import torch

from pgso.data import Task
from pgso.data.arrays import Array
from pgso.data.description import is_identity
from pgso.data.inputs import as_scipy
from pgso.records.data import FEATURES, GRAPH, GUESS, BaselineRecord

MOST_PAIRS = 2_000_000  # above which nothing is scored


def link_baselines(task: Task) -> Iterator[BaselineRecord]:
    """Scores of pairs of nodes without a network.

    ``guess``: every pair alike. ``features``: the cosine of two nodes' features. ``graph``: common
    neighbours, each worth 1 / log(its degree) (Adamic and Adar 2003), in the graph that is trained
    on.
    """
    assert task.pairs is not None
    pairs = task.pairs.numpy()  # (rows, 1 + m, 2)
    if pairs.size // 2 > MOST_PAIRS:
        return
    yield scored(task, GUESS, "chance", np.zeros(pairs.shape[:2]))
    if not is_identity(task):
        X = _rows(task.x)
        norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
        unit = scipy.sparse.diags_array(1 / np.maximum(norms, 1e-30)) @ X
        yield scored(task, FEATURES, "similar features, no graph", _products(unit, unit, pairs))
    n = task.num_nodes
    source, target = task.graph.edge_index.numpy()
    A = scipy.sparse.csr_array((np.ones(len(source)), (target, source)), shape=(n, n))
    A = ((A + A.T) > 0).astype(float)
    degree = np.asarray(A.sum(axis=1)).ravel()
    worth = scipy.sparse.diags_array(1 / np.log(np.maximum(degree, 2)))
    scores = _products(A, A @ worth, pairs)
    yield scored(task, GRAPH, "common neighbours, no features", scores)


def scored(task: Task, name: str, label: str, out: Array) -> BaselineRecord:
    """The record of a baseline with these outputs for every item."""
    y = task.y.numpy()

    def score(part: torch.Tensor) -> float | None:
        rows = part.numpy()
        return task.objective.score(out[rows], y[rows]) if len(rows) else None

    return BaselineRecord(name=name, label=label, val=score(task.val), test=score(task.test))


def _rows(x: torch.Tensor) -> "scipy.sparse.csr_array":
    if x.layout == torch.strided:
        return scipy.sparse.csr_array(x.double().numpy())
    return as_scipy(x).astype(np.float64)


def _products(
    left: "scipy.sparse.csr_array", right: "scipy.sparse.csr_array", pairs: Array
) -> Array:
    """Row by row products: of the first node in ``left``, of the second in ``right``."""
    first, second = pairs.reshape(-1, 2).T
    products = np.asarray(left[first].multiply(right[second]).sum(axis=1))
    return products.reshape(pairs.shape[:2])
