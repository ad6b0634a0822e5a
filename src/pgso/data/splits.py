"""Who is trained on, who chooses, who is tested: splits that depend on labels and seed alone."""

from numbers import Integral

import numpy as np

from pgso.data.arrays import Array, Split, is_unknown
from pgso.errors import InputError


def split_by_seed(y: Array, seed: int, train: float = 0.6, val: float = 0.2) -> Split:
    """Cut each class by itself; labels and numbers (items, columns) are cut as a whole."""
    if y.ndim == 1:
        return split_each_class(y, seed, train, val)
    return split_at_random(~is_unknown(y), seed, train, val)


def split_each_class(y: Array, seed: int, train: float = 0.6, val: float = 0.2) -> Split:
    """Shuffle each class by itself and cut it; what is left is the test set.

    Every class with three members or more is in all three parts. Items without a label (-1) are
    in none.

    Example:
        >>> [len(part) for part in split_each_class(np.repeat([0, 1], 50), seed=0)]
        [60, 20, 20]
    """
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    order = order[np.argsort(y[order], kind="stable")]
    order = order[y[order] >= 0]
    members = np.bincount(y[order]) if len(order) else np.zeros(0, dtype=np.int64)
    cuts = np.cumsum(members) - members
    rank = np.arange(len(order)) - np.repeat(cuts, members)  # of an item within its class
    first = np.clip(np.rint(train * members), 1, None)
    second = first + np.clip(np.rint(val * members), 1, None)
    second = np.where(members > 2, np.minimum(second, members - 1), second)
    first = np.where(members > 2, np.minimum(first, second - 1), first)
    part = (rank >= np.repeat(first, members)).astype(int) + (rank >= np.repeat(second, members))
    return tuple(np.sort(order[part == k]) for k in range(3))  # type: ignore[return-value]


def split_at_random(answered: Array, seed: int, train: float = 0.6, val: float = 0.2) -> Split:
    """Shuffle and cut the items that have an answer; what is left is the test set."""
    order = np.random.default_rng(seed).permutation(np.flatnonzero(answered))
    first = min(max(round(train * len(order)), 1), len(order))
    second = min(max(round((train + val) * len(order)), first + 1), len(order))
    return np.sort(order[:first]), np.sort(order[first:second]), np.sort(order[second:])


def split_into_folds(y: Array, seed: int, folds: int, protocol: str) -> Split:
    """Stratified k-fold cross-validation: seed s is fold s mod k of the shuffling s // k.

    ``"fair"``: the fold is the test set, the next one validates, the others train (Errica et al.,
    ICLR 2020, ask for a test set that chooses nothing). ``"gin"``: the fold validates, all others
    train, and there is no test set (Xu et al., ICLR 2019).
    """
    from sklearn.model_selection import StratifiedKFold

    smallest = int(np.bincount(y).min())
    if not isinstance(folds, Integral) or not 3 <= folds <= smallest:
        wanted = f"a whole number between 3 and {smallest}, the size of the smallest class"
        raise InputError(f"folds must be {wanted}; got {folds}")
    shuffling = StratifiedKFold(folds, shuffle=True, random_state=seed // folds)
    fold = np.empty(len(y), dtype=np.int64)
    for k, (_, members) in enumerate(shuffling.split(y, y)):
        fold[members] = k
    here, following = fold == seed % folds, fold == (seed + 1) % folds
    if protocol == "gin":
        return masks_to_split(~here, here, np.zeros(0))
    return masks_to_split(~(here | following), following, here)


def masks_to_split(train: Array, val: Array, test: Array) -> Split:
    """Indices from three boolean masks."""
    return np.flatnonzero(train), np.flatnonzero(val), np.flatnonzero(test)
