"""What a source reads, as numpy arrays, and what is refused before it becomes a task."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pgso.errors import InputError
from pgso.objectives import OBJECTIVES, Answer
from pgso.objectives.objective import ANSWERS

if TYPE_CHECKING:
    import scipy.sparse

    from pgso.data.tables.columns import Preparation

Array = np.ndarray[Any, Any]
Split = tuple[Array, Array, Array]  # the training, validation and test set
READ_UP_TO = 2**26  # bytes of a features.npy that are read and checked; larger ones are mapped
BLOCK = 2**16  # rows looked at together: features may be larger than memory


@dataclass(frozen=True, kw_only=True, eq=False)
class Arrays:
    """One dataset in memory. Several graphs are stored one after another, as a disjoint union."""

    edge_index: Array  # (2, E) sources, targets; distinct unless a weight is to be summed
    x: "Array | scipy.sparse.csr_array"  # (n, F) numbers, or (n, k) integers with ``categories``
    y: Array  # (items,) classes, -1: unknown; or (items, columns) labels or numbers, NaN: unknown
    split: Split  # node or graph indices
    classes: tuple[str, ...] = ()  # the name of each class, or of each label
    targets: tuple[str, ...] = ()  # the name of each number, where y holds numbers
    metric: str = "accuracy"  # the name of the objective
    edge_weight: Array | None = None  # (E,)
    relations: Mapping[str, tuple[Array, Array | None]] | None = None  # edges, weights by name
    nodes_per_graph: Array | None = None  # (num_graphs,); None: one graph, a node task
    categories: tuple[int, ...] | None = None  # the number of values of each column of x
    ids: tuple[str, ...] | None = None  # what the user calls each node or graph
    columns: tuple[str, ...] | None = None  # and each column of x
    preparation: "Preparation | None" = None  # how x was made of the user's table
    gaps: Mapping[str, int] = field(default_factory=dict)  # missing cells of that table's columns
    notes: tuple[str, ...] = ()  # what a user should know about how the files were read

    def replace(self, **changes: Any) -> "Arrays":
        """The same with some fields changed."""
        return replace(self, **changes)

    @property
    def num_nodes(self) -> int:
        """The number of nodes of all graphs together."""
        return int(self.x.shape[0])

    @property
    def num_items(self) -> int:
        """How many things are learned about: graphs, or nodes."""
        return self.num_nodes if self.nodes_per_graph is None else len(self.nodes_per_graph)

    @property
    def answer(self) -> Answer:
        """What y says about each of them."""
        return "value" if self.targets else "labels" if self.y.ndim == 2 else "class"


def check_arrays(arrays: Arrays, where: str) -> None:
    """Refuse what no task can be made of: ids out of range, NaN, labels or splits that do not fit.

    Args:
        arrays: What was read.
        where: The file, folder or dataset to name in the error.
    """
    n, items = arrays.num_nodes, arrays.num_items
    if arrays.edge_index.size and arrays.edge_index.dtype.kind not in "iu":
        raise InputError(f"{where}: edge_index must hold integers, got {arrays.edge_index.dtype}")
    check_range(arrays.edge_index, 0, n, f"{where}: a node id of the edges")
    if not is_on_disk(arrays.x):
        check_finite(arrays.x, f"{where}: features")
    if arrays.edge_weight is not None:
        check_finite(arrays.edge_weight, f"{where}: edge weights")
    if arrays.nodes_per_graph is not None:
        if arrays.nodes_per_graph.sum() != n or arrays.nodes_per_graph.min(initial=0) < 0:
            raise InputError(
                f"{where}: the graphs have {arrays.nodes_per_graph.sum()} nodes together, but "
                f"there are {n} rows of features; check the file that says which node is whose"
            )
        _check_blocks(arrays, where)
    _check_answers(arrays, where)
    if arrays.ids is not None:
        assert len(arrays.ids) == items
    for part, name in zip(arrays.split, ("training", "validation", "test"), strict=True):
        check_range(part, 0, items, f"{where}: an index of the {name} set")
    chosen = np.concatenate(arrays.split)
    repeated = np.bincount(chosen, minlength=items) > 1
    if repeated.any():
        raise InputError(
            f"{where}: item {int(repeated.argmax())} is in more than one part of the split; "
            "training, validation and test sets must not overlap"
        )
    # Without classes and targets it is there to predict on.
    if (arrays.classes or arrays.targets) and not len(arrays.split[0]):
        raise InputError(f"{where}: the training set is empty; give some items a label and a part")
    unlabelled = chosen[is_unknown(arrays.y[chosen])]
    if len(unlabelled):
        raise InputError(
            f"{where}: item {int(unlabelled[0])} is part of the split but has no label; "
            "leave it out of the split or label it"
        )
    if arrays.targets:
        _check_learned(arrays, where)
    if arrays.classes or arrays.targets:
        check_objective(arrays.metric, arrays.answer, len(arrays.classes), where)


def check_objective(name: str, answer: Answer, num_classes: int, where: str) -> None:
    """Refuse an objective that there is none of, or that does not fit the data."""
    objective = OBJECTIVES[name]
    if objective.answer != answer:
        raise InputError(
            f"{where}: {objective.name} scores {ANSWERS[objective.answer]}, but the data hold "
            f"{ANSWERS[answer]}; choose one of {', '.join(OBJECTIVES.answering(answer))}"
        )
    problem = objective.problem(num_classes)
    if problem is not None:
        raise InputError(f"{where}: {problem}")


def rarer_class(y: Array, classes: tuple[str, ...]) -> str | None:
    """Of two classes the one with fewer training labels; of equally many the second.

    Example:
        >>> rarer_class(np.array([0, 1, 1, 1]), ("fraud", "ok"))
        'fraud'
    """
    if len(classes) != 2 or y.ndim != 1:
        return None
    first, second = np.bincount(y[y >= 0], minlength=2)
    return classes[0] if first < second else classes[1]


def named_class(name: object, classes: tuple[str, ...], where: str) -> str:
    """One of two classes by its name, with or without capitals."""
    if len(classes) != 2:
        raise InputError(
            f"{where}: positive names one of two classes, and the data have {len(classes)}; "
            "leave it out"
        )
    same = [each for each in classes if each == str(name)]
    alike = same or [each for each in classes if each.casefold() == str(name).casefold()]
    if len(alike) != 1:
        raise InputError(
            f"{where}: positive must be one of the classes {' and '.join(map(repr, classes))}, "
            f"got {name!r:.80}"
        )
    return alike[0]


def is_unknown(y: Array) -> Array:  # (items,) of booleans
    """Of which items nothing is known."""
    return np.asarray(np.isnan(y).all(axis=1) if y.ndim == 2 else y < 0)


def _check_answers(arrays: Arrays, where: str) -> None:
    items = arrays.num_items
    if arrays.answer == "class":
        if arrays.y.shape != (items,):
            raise InputError(f"{where}: {items} labels are needed, got shape {arrays.y.shape}")
        check_range(arrays.y, -1, len(arrays.classes), f"{where}: a label")
        return
    columns = len(arrays.targets or arrays.classes)
    if arrays.y.shape != (items, columns):
        raise InputError(
            f"{where}: {columns} answers on each of {items} items are needed, "
            f"got shape {arrays.y.shape}"
        )
    check_finite(np.where(np.isnan(arrays.y), 0, arrays.y), f"{where}: targets")
    if arrays.answer == "labels" and not np.isin(arrays.y[~np.isnan(arrays.y)], (0, 1)).all():
        raise InputError(f"{where}: labels must be 0, 1 or unknown")


def _check_learned(arrays: Arrays, where: str) -> None:
    """Refuse a target that is scored and that no training item has: its scale is unknown."""
    train, val, test = (np.isfinite(arrays.y[part]).any(axis=0) for part in arrays.split)
    for name, is_missing in zip(arrays.targets, np.asarray((val | test) & ~train), strict=True):
        if is_missing:
            raise InputError(
                f"{where}: no item of the training set has the target {name!r}, which others have; "
                "leave that target out, or put some of them into the training set"
            )


def identity(n: int) -> "scipy.sparse.csr_array":  # (n, n)
    """Features of nodes that have none: each its own, stored as a sparse matrix."""
    import scipy.sparse

    return scipy.sparse.csr_array(scipy.sparse.eye_array(n, dtype=np.float32))


def is_on_disk(x: "Array | scipy.sparse.csr_array") -> bool:
    """Whether features stay in their file: mapped, and too large to be read just to check them."""
    return isinstance(x, np.memmap) and x.nbytes > READ_UP_TO


def check_range(values: Array, low: int, high: int, what: str) -> None:
    """Refuse integers outside low ... high - 1."""
    if values.size and (values.min() < low or values.max() >= high):
        wrong = values[(values < low) | (values >= high)].flat[0]
        raise InputError(f"{what} is {wrong}, but it must lie between {low} and {high - 1}")


def check_finite(values: "Array | scipy.sparse.csr_array", what: str) -> None:
    """Refuse NaN and infinities, naming the first place."""
    stored = values if isinstance(values, np.ndarray) else values.data
    blocks = (stored[start : start + BLOCK] for start in range(0, len(stored), BLOCK))
    if np.issubdtype(stored.dtype, np.integer) or all(np.isfinite(part).all() for part in blocks):
        return
    if not isinstance(values, np.ndarray):
        values = values.tocoo()
        position = int((~np.isfinite(values.data)).argmax())
        row, value = int(values.row[position]), values.data[position]
    else:
        first = np.argwhere(~np.isfinite(values))[0]
        row, value = int(first[0]), values[tuple(first)]
    raise InputError(f"{what} hold {value} in row {row} (counted from 0); they must be finite")


def _check_blocks(arrays: Arrays, where: str) -> None:
    assert arrays.nodes_per_graph is not None
    graph = np.repeat(np.arange(arrays.num_items), arrays.nodes_per_graph)
    source, target = graph[arrays.edge_index]
    if (source != target).any():
        edge = int((source != target).argmax())
        j, i = arrays.edge_index[:, edge]
        raise InputError(
            f"{where}: the edge from node {j} to node {i} joins graph {source[edge]} with graph "
            f"{target[edge]}; an edge must stay within its graph"
        )
