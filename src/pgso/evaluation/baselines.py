"""What a network must beat: a guess, the features without the graph, the graph without features."""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse
import torch

from pgso.data import Task
from pgso.data.arrays import Array
from pgso.data.description import is_identity
from pgso.data.inputs import as_scipy
from pgso.records.data import FEATURES, GRAPH, GUESS, BaselineRecord

PENALTIES = (0.01, 0.1, 1.0, 10.0)  # one is chosen on validation
MOST_WORK = 5e8  # labels x columns x outputs, above which no regression is fitted
LARGE = 1e30  # targets from here on are divided by the largest
MOST_PAIRS = 2_000_000  # of links, above which nothing is scored
STEPS, KEPT = 10, 0.85  # of the walk on which labels spread, and its chance of going on


def baselines(task: Task) -> tuple[BaselineRecord, ...]:
    """Those that a task has.

    ``guess``: the most frequent class, or the mean. ``features``: logistic or ridge regression on
    standardised columns. ``graph``: the labels of the neighbourhood, by a walk with restarts from
    the training labels; of a graph task, regression on the numbers of nodes and edges. Links have
    others: :func:`link_baselines`.
    """
    if task.answer == "link":
        return tuple(link_baselines(task))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)  # strange targets have strange baselines
        return tuple(_baselines(task))


def _baselines(task: Task) -> Iterator[BaselineRecord]:
    guess = {"class": "most frequent class", "labels": "how frequent each label is"}
    yield scored(task, GUESS, guess.get(task.answer, "mean"), _guess(task))
    x = None if is_identity(task) else _columns(task)
    work = len(task.train) * task.num_features * max(task.num_outputs, 1)
    if x is not None and work <= MOST_WORK:
        name = "ridge regression" if task.answer == "value" else "logistic regression"
        yield scored(task, FEATURES, f"{name}, no graph", _regression(task, x))
    if task.kind == "graph":
        nodes = task.nodes_per_graph.numpy()
        owner = np.repeat(np.arange(len(nodes)), nodes)
        edges = np.bincount(owner[task.graph.edge_index[0].numpy()], minlength=len(nodes))
        sizes = np.stack([nodes, edges, edges / np.maximum(nodes, 1)], axis=1)
        yield scored(task, GRAPH, "graph sizes, no features", _regression(task, sizes))
    else:
        yield scored(task, GRAPH, "neighbours' labels, no features", _spread(task))


def _one_hot(task: Task) -> Array:  # (items, outputs), of training labels; others: as they are
    if task.answer != "class":
        return task.y.double().numpy()
    one_hot = np.zeros((len(task.y), task.num_classes))
    one_hot[task.train.numpy(), task.y[task.train].numpy()] = 1
    return one_hot


def _guess(task: Task) -> Array:  # (items, outputs)
    labels = _one_hot(task)[task.train.numpy()]
    return np.tile(np.nanmean(labels, axis=0), (len(task.y), 1))


def _columns(task: Task) -> Any:  # (items, F), dense or scipy's sparse rows
    x = task.x
    if task.categories is not None:
        sizes = enumerate(task.categories)
        one_hot = torch.nn.functional.one_hot
        x = torch.cat([one_hot(x[:, c], size) for c, size in sizes], dim=1).float()
    if task.kind == "graph":
        dense = x if x.layout == torch.strided else x.to_dense()
        owner = torch.repeat_interleave(task.nodes_per_graph)
        sums = torch.zeros(task.num_graphs, dense.size(1)).index_add_(0, owner, dense.float())
        means = sums / task.nodes_per_graph.clamp(min=1).unsqueeze(1)
        return torch.cat([sums, means], dim=1).numpy()
    return x.numpy() if x.layout == torch.strided else as_scipy(x)


def _regression(task: Task, x: Any) -> Array:  # (items, outputs)
    """The regression whose penalty is best on validation."""
    from sklearn.preprocessing import StandardScaler

    train, y = task.train.numpy(), task.y.numpy()
    scaler = StandardScaler(with_mean=not scipy.sparse.issparse(x)).fit(x[train])
    scaled = scaler.transform(x)
    fit = {"class": _logistic, "labels": _logistic_by_label, "value": _ridge}[task.answer]
    tried = [fit(scaled, y, train, penalty, task.num_outputs) for penalty in PENALTIES]
    val = task.val.numpy()

    def merit(out: Array) -> float:
        score = task.objective.score(out[val], y[val]) if len(val) else None
        return task.objective.merit(score)

    return max(tried, key=merit)


def _logistic(x: Any, y: Array, train: Array, penalty: float, outputs: int) -> Array:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    out = np.full((x.shape[0], outputs), -1e3)
    present = np.unique(y[train])
    if len(present) == 1:
        out[:, present] = 0
        return out
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # good enough to be compared with
        model = LogisticRegression(C=1 / penalty, max_iter=200).fit(x[train], y[train])
    with np.errstate(divide="ignore"):  # a probability of 0
        out[:, model.classes_] = model.predict_log_proba(x).clip(min=-1e3)
    return out


def _logistic_by_label(x: Any, y: Array, train: Array, penalty: float, outputs: int) -> Array:
    out = np.zeros((x.shape[0], outputs))
    for column in range(outputs):
        rows = train[np.isfinite(y[train, column])]
        if len(rows):
            has_it = np.nan_to_num(y[:, column]).astype(np.int64)
            classes = _logistic(x, has_it, rows, penalty, 2)
            out[:, column] = classes[:, 1] - classes[:, 0]
    return out


def _ridge(x: Any, y: Array, train: Array, penalty: float, outputs: int) -> Array:
    from sklearn.linear_model import Ridge

    out = np.zeros((x.shape[0], outputs))
    for column in range(outputs):
        rows = train[np.isfinite(y[train, column])]
        if len(rows):
            given = y[rows, column].astype(np.float64)
            mean = given.mean()  # in 32 bits, as x is, it would cost digits of what differs
            large = max(float(np.abs(given - mean).max()), 1.0)
            unit = 1.0 if large < LARGE else large  # sums of larger ones leave 32 bits
            model = Ridge(alpha=penalty * len(rows) / 10).fit(x[rows], (given - mean) / unit)
            out[:, column] = mean + unit * model.predict(x).astype(np.float64)
    return out


def _spread(task: Task) -> Array:  # (n, outputs)
    """Training labels, spread along edges: what a node's neighbourhood says."""
    n, train = task.num_nodes, task.train.numpy()
    weight = task.graph.edge_weight
    values = np.ones(task.num_edges) if weight is None else weight.abs().double().numpy()
    source, target = task.graph.edge_index.numpy()
    A = scipy.sparse.csr_array((values, (target, source)), shape=(n, n))
    A = A + A.T
    degree = np.asarray(A.sum(axis=1)).ravel()
    P = scipy.sparse.diags_array(1 / np.maximum(degree, 1e-30)) @ A
    targets = _one_hot(task)
    given = np.zeros_like(targets)
    is_known = np.zeros_like(targets)
    given[train] = np.nan_to_num(targets[train])
    is_known[train] = np.isfinite(targets[train])
    said, heard = given, is_known
    for _ in range(STEPS):  # what is heard from afar counts less
        said, heard = given + KEPT * (P @ said), is_known + KEPT * (P @ heard)
    mean = given.sum(axis=0) / np.maximum(is_known.sum(axis=0), 1)
    return np.asarray((said + 1e-3 * mean) / (heard + 1e-3))


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
