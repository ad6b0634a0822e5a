"""What a network must beat: a guess, the features without the graph, the graph without features."""

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
import torch

from pgso.data import Task
from pgso.data.arrays import Array
from pgso.data.description import describe, is_identity, sketch_of
from pgso.data.inputs import as_scipy
from pgso.data.load import state_of, task_of
from pgso.records import RunSpec
from pgso.records.data import (
    BOOSTED,
    BOOSTED_GRAPH,
    FEATURES,
    FINGERPRINTS,
    GRAPH,
    GUESS,
    BaselineRecord,
    DataRecord,
)

PENALTIES = (0.01, 0.1, 1.0, 10.0)  # one is chosen on validation
MOST_WORK = 5e8  # labels x columns x outputs, above which no regression is fitted
FEWEST_BOOSTED = 50  # training labels, below which trees learn nothing
MOST_BOOSTED = 2e7  # labels x columns x outputs, above which no trees are grown
BITS, RADIUS, FOREST = 2048, 2, 100  # of fingerprints: their length, bonds away, and trees
MOST_FOREST = 1e8  # labels x bits x outputs, above which no forest is grown (ogbg-molhiv has 7e7)
LARGE = 1e30  # targets from here on are divided by the largest
MOST_PAIRS = 2_000_000  # of links, above which nothing is scored
TREES = 300  # of all classes together, if there are more than two
STEPS, KEPT = 10, 0.85  # of the walk on which labels spread, and its chance of going on

Said = Iterator[tuple[str, str, Array]]  # name, label, outputs of every item


def data_record(
    spec: RunSpec,
    root: str | Path | None = None,
    task: Task | None = None,
    drawn: bool = True,
) -> DataRecord:
    """Counts of the data of a spec, a sketch of its graph, and baselines: seconds at most."""
    state = state_of(spec.dataset)
    data = task_of(spec, root) if task is None else task
    more = {"baselines": baselines(data), "sketch": sketch_of(data) if drawn else None}
    return describe(data, spec, state).model_copy(update=more)


def baselines(task: Task) -> tuple[BaselineRecord, ...]:
    """Those that a task has.

    ``guess``: the most frequent class, or the mean. ``features``: logistic or ridge regression on
    standardised columns. ``graph``: the labels of the neighbourhood, by a walk with restarts from
    the training labels; of a graph task, regression on the numbers of nodes and edges.
    ``boosted``: gradient boosting on the columns, from fifty training labels on;
    ``boosted_graph``: on the columns and their means over a node's neighbours.
    ``fingerprints``: of molecules, a random forest on the surroundings of their atoms.

    Of links, ``features``: the cosine of two nodes' features; ``graph``: common neighbours, each
    worth 1 / log(its degree) (Adamic and Adar 2003), in the graph that is trained on.
    """
    found, y, parts = [], task.y.numpy(), {"val": task.val.numpy(), "test": task.test.numpy()}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)  # extreme targets overflow
        for name, label, out in _of_links(task) if task.answer == "link" else _of_items(task):
            scores = {
                part: task.objective.score(out[rows], y[rows]) if len(rows) else None
                for part, rows in parts.items()
            }
            found.append(BaselineRecord(name=name, label=label, **scores))
    return tuple(found)


def _of_items(task: Task) -> Said:
    guess = {"class": "most frequent class", "labels": "how frequent each label is"}
    targets = task.y.double().numpy()
    if task.answer == "class":  # a column for each; the last row of the identity is of unknown ones
        targets = np.eye(task.num_classes + 1)[task.y.numpy(), :-1]
    frequent = np.nanmean(targets[task.train.numpy()], axis=0)
    yield GUESS, guess.get(task.answer, "mean"), np.tile(frequent, (len(task.y), 1))
    x = None if is_identity(task) else _columns(task)
    work = len(task.train) * task.num_features * max(task.num_outputs, 1)
    if x is not None and work <= MOST_WORK:
        name = "ridge regression" if task.answer == "value" else "logistic regression"
        yield FEATURES, f"{name}, no graph", _regression(task, x)
    if task.kind == "graph":
        nodes = task.nodes_per_graph.numpy()
        owner = np.repeat(np.arange(len(nodes)), nodes)
        edges = np.bincount(owner[task.graph.edge_index[0].numpy()], minlength=len(nodes))
        sizes = np.stack([nodes, edges, edges / np.maximum(nodes, 1)], axis=1)
        yield GRAPH, "graph sizes, no features", _regression(task, sizes)
        bits = len(task.train) * BITS * task.num_outputs
        if task.categories is not None and len(task.train) >= FEWEST_BOOSTED and bits < MOST_FOREST:
            yield FINGERPRINTS, "random forest on circular fingerprints", _forest(task)
    else:
        # The mean over neighbours, edges taken in both directions.
        weight = task.graph.edge_weight
        A = _both_ways(task, np.ones(task.num_edges) if weight is None else weight.abs().double())
        P = scipy.sparse.diags_array(1 / np.maximum(np.ravel(A.sum(axis=1)), 1e-30)) @ A
        yield GRAPH, "neighbours' labels, no features", _spread(task, P, targets)
    if isinstance(x, np.ndarray) and len(task.train) >= FEWEST_BOOSTED and work <= MOST_BOOSTED:
        yield BOOSTED, "gradient boosting, no graph", _boosted(task, x)
        if task.kind == "node":
            wide = np.concatenate([x, P @ x], axis=1)
            yield BOOSTED_GRAPH, "gradient boosting with means of neighbours", _boosted(task, wide)


def _columns(task: Task) -> Any:  # (items, F), dense or scipy's sparse rows
    x = task.x
    if task.categories is not None:
        sizes, one_hot = enumerate(task.categories), torch.nn.functional.one_hot
        x = torch.cat([one_hot(x[:, c], size) for c, size in sizes], dim=1).float()
    if task.kind == "graph":
        dense = x if x.layout == torch.strided else x.to_dense()
        owner = torch.repeat_interleave(task.nodes_per_graph)
        sums = torch.zeros(task.num_graphs, dense.size(1)).index_add_(0, owner, dense.float())
        means = sums / task.nodes_per_graph.clamp(min=1).unsqueeze(1)
        return torch.cat([sums, means], dim=1).numpy()
    return x.numpy() if x.layout == torch.strided else as_scipy(x)


def _regression(task: Task, x: Any) -> Array:  # (items, outputs)
    """Logistic or ridge regression with the penalty that is best on validation."""
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler(with_mean=not scipy.sparse.issparse(x)).fit(x[task.train.numpy()])
    scaled, val, y = scaler.transform(x), task.val.numpy(), task.y.numpy()

    tried = []
    for penalty in PENALTIES:
        if task.answer == "value":
            out = _predictions(task, scaled, Ridge(), penalty)
        else:
            out = _predictions(task, scaled, LogisticRegression(C=1 / penalty, max_iter=200))
        score = task.objective.score(out[val], y[val]) if len(val) else None
        tried.append((task.objective.merit(score), out))
    return max(tried, key=lambda entry: entry[0])[1]


def _boosted(task: Task, x: Array) -> Array:  # (items, outputs)
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from threadpoolctl import threadpool_limits

    classes = task.num_classes if task.answer == "class" else 0
    options: dict[str, Any] = {"max_iter": 100, "learning_rate": 0.1}
    if classes > 2:
        options = {"max_iter": max(TREES // classes, 20), "learning_rate": 0.25}
    options |= {"max_leaf_nodes": 15, "early_stopping": False, "random_state": 0}
    is_number = task.answer == "value"
    kind = HistGradientBoostingRegressor if is_number else HistGradientBoostingClassifier
    with threadpool_limits(1):  # on a busy machine two threads take ten times as long
        return _predictions(task, x, kind(**options))


def _forest(task: Task) -> Array:  # (items, outputs)
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    # Of classes, larger leaves know chances better: ogbg-molhiv, validation ROC-AUC 80.1 to 82.1.
    is_number = task.answer == "value"
    kind, leaf = (RandomForestRegressor, 1) if is_number else (RandomForestClassifier, 5)
    model = kind(FOREST, min_samples_leaf=leaf, max_features="sqrt", random_state=0)
    return _predictions(task, circular_fingerprints(task), model)


def circular_fingerprints(task: Task) -> Array:  # (graphs, BITS)
    """Which surroundings of atoms a molecule has: Morgan's fingerprints, by hashes.

    A surrounding is an atom with all that is at most RADIUS bonds away. Kinds of bonds are not
    seen, since a task does not keep them. A hash of neighbours is a sum, so their order is nothing.
    """
    from pandas.util import hash_array

    nodes, x = task.nodes_per_graph.numpy(), task.x.numpy().astype(np.uint64)
    owner = np.repeat(np.arange(len(nodes)), nodes)
    source, target = task.graph.edge_index.numpy()
    bits, length = np.zeros((len(nodes), BITS), dtype=np.uint8), np.uint64(BITS)
    hashes = np.zeros(len(x), dtype=np.uint64)
    for column in x.T:
        hashes = hash_array(hashes + column)
    bits[owner, hashes % length] = 1
    for _ in range(RADIUS):
        around = np.zeros_like(hashes)
        np.add.at(around, target, hash_array(hashes + length)[source])
        hashes = hash_array(hashes + around)
        bits[owner, hashes % length] = 1
    return bits


def _predictions(
    task: Task, x: Any, model: Any, penalty: float | None = None
) -> Array:  # (items, outputs)
    """Log-probabilities, or numbers, of a model of scikit-learn that is fitted to training rows.

    The penalty of ridge regression grows with the rows of each output, of which some may be
    unknown.
    """
    train, y = task.train.numpy(), task.y.numpy()
    if task.answer == "class":
        return _log_probabilities(model, x, y, train, task.num_outputs)
    out = np.zeros((x.shape[0], task.num_outputs))
    for column in range(task.num_outputs):
        rows = train[np.isfinite(y[train, column])]
        if not len(rows):
            continue
        if task.answer == "labels":
            has_it = np.nan_to_num(y[:, column]).astype(np.int64)
            classes = _log_probabilities(model, x, has_it, rows, 2)
            out[:, column] = classes[:, 1] - classes[:, 0]
        else:
            given = y[rows, column].astype(np.float64)
            mean = given.mean()  # in 32 bits, as x is, it would cost digits of what differs
            large = max(float(np.abs(given - mean).max()), 1.0)
            unit = 1.0 if large < LARGE else large  # sums of larger ones leave 32 bits
            if penalty is not None:
                model.set_params(alpha=penalty * len(rows) / 10)
            model.fit(x[rows], (given - mean) / unit)
            out[:, column] = mean + unit * model.predict(x).astype(np.float64)
    return out


def _log_probabilities(
    model: Any, x: Any, y: Array, train: Array, classes: int
) -> Array:  # (items, classes)
    from sklearn.exceptions import ConvergenceWarning

    out = np.full((x.shape[0], classes), -1e3)
    present = np.unique(y[train])
    if len(present) == 1:
        out[:, present] = 0
        return out
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # good enough to be compared with
        model.fit(x[train], y[train])
    out[:, model.classes_] = np.log(model.predict_proba(x)).clip(min=-1e3)
    return out


def _both_ways(task: Task, values: Any) -> "scipy.sparse.csr_array":  # (n, n)
    source, target = task.graph.edge_index.numpy()
    shape = (task.num_nodes, task.num_nodes)
    A = scipy.sparse.csr_array((np.asarray(values), (target, source)), shape=shape)
    return A + A.T


def _spread(task: Task, P: Any, targets: Array) -> Array:  # (n, outputs)
    """Training labels, spread along edges by P: what a node's neighbourhood says."""
    train = task.train.numpy()
    given, is_known = np.zeros((2, *targets.shape))
    given[train] = np.nan_to_num(targets[train])
    is_known[train] = np.isfinite(targets[train])
    said, heard = given, is_known
    for _ in range(STEPS):  # labels of distant nodes count less, by KEPT a hop
        said, heard = given + KEPT * (P @ said), is_known + KEPT * (P @ heard)
    mean = given.sum(axis=0) / np.maximum(is_known.sum(axis=0), 1)
    return np.asarray((said + 1e-3 * mean) / (heard + 1e-3))


def _of_links(task: Task) -> Said:
    assert task.pairs is not None
    pairs = task.pairs.numpy()  # (rows, 1 + m, 2)
    if pairs.size // 2 > MOST_PAIRS:
        return
    first, second = pairs.reshape(-1, 2).T

    def products(left: "scipy.sparse.csr_array", right: "scipy.sparse.csr_array") -> Array:
        """Of each pair, the first node's row of left times the second node's row of right."""
        return np.asarray(left[first].multiply(right[second]).sum(axis=1)).reshape(pairs.shape[:2])

    yield GUESS, "chance", np.zeros(pairs.shape[:2])
    if not is_identity(task):
        dense = task.x.layout == torch.strided
        X = scipy.sparse.csr_array(task.x.double().numpy() if dense else as_scipy(task.x))
        X = X.astype(np.float64)
        norms = np.sqrt(np.ravel(X.multiply(X).sum(axis=1)))
        unit = scipy.sparse.diags_array(1 / np.maximum(norms, 1e-30)) @ X
        yield FEATURES, "similar features, no graph", products(unit, unit)
    A = (_both_ways(task, np.ones(task.num_edges)) > 0).astype(float)
    worth = scipy.sparse.diags_array(1 / np.log(np.maximum(np.ravel(A.sum(axis=1)), 2)))
    yield GRAPH, "common neighbours, no features", products(A, A @ worth)
