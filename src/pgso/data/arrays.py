"""Numpy arrays that tasks are made of, and what is refused of them."""

from typing import TYPE_CHECKING, Any

import numpy as np

from pgso.errors import InputError
from pgso.objectives import OBJECTIVES, Answer
from pgso.objectives.objective import ANSWERS

if TYPE_CHECKING:
    import scipy.sparse

Array = np.ndarray[Any, Any]
Split = tuple[Array, Array, Array]  # the training, validation and test set
READ_UP_TO = 2**26  # bytes of a features.npy that are read and checked; larger ones are mapped
MOST_CLASSES = 50  # whole numbers with more values are no classes,
FEW_CLASSES = 3  # nor are those with more than this and more than half as many as there are
BLOCK = 2**16  # rows looked at together: features may be larger than memory


def check_arrays(
    name: str,
    x: "Array | scipy.sparse.csr_array",
    edge_index: Array,
    edge_weight: Array | None,
    sizes: Array,  # of each graph
    y: Array,
    items: int,  # how many answers there must be
    classes: tuple[str, ...],
    targets: tuple[str, ...],
) -> None:
    """Refuse ids out of range, numbers that are not finite, edges between graphs, odd answers."""
    n = x.shape[0]
    if edge_index.size and edge_index.dtype.kind not in "iu":
        raise InputError(f"{name}: edge_index must hold integers, got {edge_index.dtype}")
    check_range(edge_index, 0, n, f"{name}: a node id of the edges")
    check_finite(x, f"{name}: features")
    if edge_weight is not None:
        check_finite(edge_weight, f"{name}: edge weights")
    if sizes.sum() != n or sizes.min(initial=0) < 0:
        counts = f"the graphs have {sizes.sum()} nodes together, but there are {n} rows of features"
        raise InputError(f"{name}: {counts}; check the file that says which node is whose")
    source, target = np.repeat(np.arange(len(sizes)), sizes)[edge_index]
    if (source != target).any():
        edge = int((source != target).argmax())
        j, i = edge_index[:, edge]
        graphs = f"joins graph {source[edge]} with graph {target[edge]}"
        problem = f"the edge from node {j} to node {i} {graphs}"
        raise InputError(f"{name}: {problem}; an edge must stay within its graph")
    if not targets and y.ndim != 2:
        if y.shape != (items,):
            raise InputError(f"{name}: {items} labels are needed, got shape {y.shape}")
        check_range(y, -1, len(classes), f"{name}: a label")
        return
    columns = len(targets or classes)
    if y.shape != (items, columns):
        needed = f"{columns} answers on each of {items} items are needed"
        raise InputError(f"{name}: {needed}, got shape {y.shape}")
    check_finite(np.where(np.isnan(y), 0, y), f"{name}: targets")
    if not targets and not np.isin(y[~np.isnan(y)], (0, 1)).all():
        raise InputError(f"{name}: labels must be 0, 1 or unknown")


def check_split(
    name: str, y: Array, split: Split, classes: tuple[str, ...], targets: tuple[str, ...]
) -> None:
    """Refuse parts that overlap or hold items without an answer, and nothing to learn from."""
    for part, words in zip(split, ("training", "validation", "test"), strict=True):
        check_range(part, 0, len(y), f"{name}: an index of the {words} set")
    chosen = np.concatenate(split)
    repeated = np.bincount(chosen, minlength=len(y)) > 1
    if repeated.any():
        problem = f"item {int(repeated.argmax())} is in more than one part of the split"
        raise InputError(f"{name}: {problem}; training, validation and test must not overlap")
    if (classes or targets) and not len(split[0]):
        raise InputError(f"{name}: the training set is empty; give some items a label and a part")
    unlabelled = chosen[is_unknown(y[chosen])]
    if len(unlabelled):
        problem = f"item {int(unlabelled[0])} is part of the split but has no label"
        raise InputError(f"{name}: {problem}; leave it out of the split or label it")
    for k, target in enumerate(targets):  # the scale of one that no training item has is not known
        train, *others = (bool(np.isfinite(y[part, k]).any()) for part in split)
        if any(others) and not train:
            problem = f"no item of the training set has the target {target!r}, which others have"
            advice = "leave that target out, or put some of them into the training set"
            raise InputError(f"{name}: {problem}; {advice}")


def check_objective(name: str, answer: Answer, num_classes: int, where: str) -> None:
    """Refuse an objective that is not known, or that does not fit the data."""
    objective = OBJECTIVES[name]
    if objective.answer != answer:
        problem = f"scores {ANSWERS[objective.answer]}, but the data hold {ANSWERS[answer]}"
        advice = f"choose one of {', '.join(OBJECTIVES.answering(answer))}"
        raise InputError(f"{where}: {objective.name} {problem}; {advice}")
    if objective.for_two and num_classes != 2:
        raise InputError(f"{where}: {objective.name} needs two classes, got {num_classes}")


def rarer_class(y: Array, classes: tuple[str, ...]) -> str | None:
    """Of two classes the one with fewer training labels; of equally many the second."""
    if len(classes) != 2 or y.ndim != 1:
        return None
    first, second = np.bincount(y[y >= 0], minlength=2)
    return classes[0] if first < second else classes[1]


def named_class(name: object, classes: tuple[str, ...], where: str) -> str:
    """One of two classes by its name, with or without capitals."""
    if len(classes) != 2:
        problem = f"positive names one of two classes, and the data have {len(classes)}"
        raise InputError(f"{where}: {problem}; leave it out")
    same = [each for each in classes if each == str(name)]
    alike = same or [each for each in classes if each.casefold() == str(name).casefold()]
    if len(alike) != 1:
        wanted = f"one of the classes {' and '.join(map(repr, classes))}"
        raise InputError(f"{where}: positive must be {wanted}, got {name!r:.80}")
    return alike[0]


def are_values(numbers: Array) -> bool:
    """Whether numbers are no classes: they have fractions, or too many values."""
    distinct = np.unique(numbers)
    most = min(MOST_CLASSES, max(FEW_CLASSES, len(numbers) / 2))
    return bool((distinct % 1).any()) or len(distinct) > most


def is_unknown(y: Array) -> Array:  # (items,) of booleans
    """Mask of items without a label."""
    return np.asarray(np.isnan(y).all(axis=1) if y.ndim == 2 else y < 0)


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
    """Refuse NaN and infinities, naming the first place; what stays on disk is not read."""
    stored = values if isinstance(values, np.ndarray) else values.data
    blocks = (stored[start : start + BLOCK] for start in range(0, len(stored), BLOCK))
    is_fine = stored.dtype.kind in "iu" or is_on_disk(values)
    if is_fine or all(np.isfinite(part).all() for part in blocks):
        return
    place = np.argwhere(~np.isfinite(stored))[0]
    value, row = stored[tuple(place)], int(place[0])
    if not isinstance(values, np.ndarray):  # the row in which this stored number is
        row = int(np.searchsorted(values.tocsr().indptr, row, side="right")) - 1
    raise InputError(f"{what} hold {value} in row {row} (counted from 0); they must be finite")
