"""A user's graph in one .npz archive."""

from pathlib import Path

import numpy as np

from pgso.data.archive import read_archive
from pgso.data.arrays import Array, Arrays, Split, check_range, identity, is_unknown
from pgso.data.edge_lists import merged
from pgso.data.splits import split_at_random, split_each_class
from pgso.data.tables.answers import encode_labels
from pgso.errors import InputError

PARTS = ("train", "val", "test")


def load_npz(
    path: Path, root: Path, seed: int, *, undirected: bool = True, metric: str = "auto"
) -> Arrays:
    """A node task from the arrays of an archive, none of them pickled.

    ``edge_index`` (2, E) integers; ``y`` (n,) labels, integers (-1: unknown) or words (empty:
    unknown), or numbers, (n,) or (n, T) floats (NaN: missing); and, if there are, ``x`` (n, F)
    numbers (otherwise the identity), ``edge_weight`` (E,), and ``train``, ``val`` and ``test``,
    indices or masks.

    Args:
        path: The archive.
        root: Not used.
        seed: Of the split, 60/20/20 of each class, where the archive has none.
        undirected: Whether an edge goes both ways, however often it is listed.
        metric: The objective; ``"auto"``: accuracy of labels, RMSE of numbers.
    """
    raw = read_archive(path)
    for key in ("edge_index", "y"):
        if key not in raw:
            raise InputError(f"{path} has no array {key!r}; it has {', '.join(raw) or 'none'}")
    labels, edge_index, weight = raw["y"], raw["edge_index"], raw.get("edge_weight")
    regression = labels.dtype.kind == "f" and labels.ndim in (1, 2)
    if not regression and (labels.ndim != 1 or labels.dtype.kind not in "biuU"):
        raise InputError(f"{path}: 'y' must be one integer or word per node, got {labels.dtype}")
    if edge_index.ndim != 2 or len(edge_index) != 2 or edge_index.dtype.kind not in "iu":
        raise InputError(
            f"{path}: 'edge_index' must be integers of shape (2, E), got {edge_index.dtype} of "
            f"shape {edge_index.shape}"
        )
    if weight is not None and (
        weight.shape != edge_index.shape[1:] or weight.dtype.kind not in "iuf"
    ):
        raise InputError(f"{path}: 'edge_weight' must be one number per edge")
    n = len(labels)
    check_range(edge_index, 0, n, f"{path}: a node id of 'edge_index'")
    x = raw["x"] if "x" in raw else identity(n)
    if x.ndim != 2 or x.shape[0] != n or x.dtype.kind not in "biuf":
        raise InputError(f"{path}: 'x' must be numbers of shape ({n}, F), a row per node")
    unknown = "" if labels.dtype.kind == "U" else "-1"
    classes: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    y = labels.reshape(n, -1)
    if regression:
        targets = tuple(f"target {k}" for k in range(y.shape[1])) if y.shape[1] > 1 else ("y",)
    else:
        y, classes = encode_labels(["" if str(v) == unknown else str(v) for v in labels])
    if metric == "auto":
        metric = "rmse" if regression else "accuracy"
    if len(classes) < 2 and not regression:
        raise InputError(f"{path}: 'y' needs two classes or more, got {len(classes)}")
    edge_index, weight = merged(edge_index.astype(np.int64), weight, n, undirected, path)
    return Arrays(
        edge_index=edge_index,
        edge_weight=weight,
        x=x.astype(np.float32),
        y=y,
        split=_split(raw, n, path)
        or (split_at_random(~is_unknown(y), seed) if regression else split_each_class(y, seed)),
        classes=classes,
        targets=targets,
        metric=metric,
    )


def _split(raw: dict[str, Array], n: int, path: Path) -> Split | None:
    parts = [raw[part] for part in PARTS if part in raw]
    if not parts:
        return None
    if len(parts) < len(PARTS):
        raise InputError(f"{path} must have all of the arrays train, val, test, or none of them")
    train, val, test = (
        np.flatnonzero(p) if p.dtype == bool and p.shape == (n,) else p for p in parts
    )
    if any(part.ndim != 1 or part.dtype.kind not in "iu" for part in (train, val, test)):
        raise InputError(f"{path}: train, val and test must be indices or masks of {n} nodes")
    return train, val, test
