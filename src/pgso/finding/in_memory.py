"""A graph, features and labels in memory, of many types, as a problem."""

from typing import Any

import numpy as np
import torch

from pgso.data.arrays import Array, check_objective, identity, named_class, rarer_class
from pgso.data.inputs import as_array, read_answers, read_features, read_graph, read_labels
from pgso.data.task import IN_MEMORY, stored
from pgso.errors import InputError
from pgso.finding.problem import Problem
from pgso.graph import Relations
from pgso.objectives import OBJECTIVES


def problem_from(
    data: Any,
    x: Any,
    y: Any,
    train: Any,
    val: Any,
    test: Any,
    objective: str | None = None,
    positive: object = None,
) -> Problem:
    """The problem of one graph whose nodes have classes or numbers.

    Args:
        data: The graph, or its edges by their kind. PyG's data may bring x, y and masks.
        x: Features, one row per node; None for the identity.
        y: Classes, or numbers (:func:`read_answers` says which), or a column for each of several
            numbers; -1, None or NaN where unknown (of numbers: None or NaN).
        train: Indices or a mask; None: every label that is in no other part.
        val: Likewise; None: none.
        test: Likewise; None: none.
        objective: What is scored; by default accuracy, or R² of numbers.
        positive: Of two classes, the one that scores are about; by default the rarer one.
    """
    x = getattr(data, "x", None) if x is None else x
    y = getattr(data, "y", None) if y is None else y
    if y is None:
        raise InputError("find needs labels; give y, one per node, with -1 where it is unknown")
    parts = {"train": train, "val": val, "test": test}
    numbers = objective is not None and OBJECTIVES[objective].answer == "value"
    classes, values, has_label = _targets(y, numbers)
    if not has_label.any():
        raise InputError("y holds no label that is known; give some nodes a class or a number")
    n = len(values)
    features = identity(n) if x is None else x
    prepared = stored(read_features(features))
    if prepared.size(0) != n:
        raise InputError(f"x has {prepared.size(0)} rows, y has {n}; give one of each per node")
    if prepared.size(1) == 0:
        raise InputError("x has no columns; leave x out if the nodes have no features")
    chosen = {name: _indices(part, name, has_label) for name, part in parts.items()}
    if train is None and getattr(data, "train_mask", None) is not None:
        given = np.concatenate(list(chosen.values()))
        for name in parts:
            if parts[name] is None:  # the data's own, without what was given another use
                parts[name] = getattr(data, f"{name}_mask", None)
                chosen[name] = np.setdiff1d(_indices(parts[name], name, has_label), given)
    if parts["train"] is None:
        taken = np.isin(np.arange(n), np.concatenate([chosen["val"], chosen["test"]]))
        chosen["train"] = np.flatnonzero(has_label & ~taken)
    together = np.concatenate(list(chosen.values()))
    if len(np.unique(together)) < len(together):
        raise InputError("train, val and test must not overlap; a label can have one use only")
    if objective is not None:
        check_objective(objective, "class" if classes else "value", len(classes), IN_MEMORY)
    if positive is None:
        positive = rarer_class(values[chosen["train"]], classes)
    else:
        positive = named_class(positive, classes, IN_MEMORY)
    relations = data if isinstance(data, Relations) else None
    return Problem.prepared(
        name=IN_MEMORY,
        kind="node",
        metric=OBJECTIVES[objective or ("accuracy" if classes else "r2")].name,
        graph=read_graph(relations.union if relations is not None else data, n),
        relations=relations,
        x=prepared,
        y=torch.from_numpy(values),
        classes=classes,
        positive=positive,
        nodes_per_graph=torch.tensor([n]),
        **{name: torch.from_numpy(part) for name, part in chosen.items()},
    )


def _targets(y: Any, numbers: bool = False) -> tuple[tuple[str, ...], Array, Array]:
    """The names of the classes (none: numbers), a value or row per node, and which are known.

    Numbers are no classes if the objective scores ``numbers``; floating-point ones also if they
    have fractions or many values.
    """
    values, are_numbers = read_answers(y, numbers)
    known = values[~np.isnan(values)] if values.dtype.kind == "f" else values
    if values.ndim == 2 and known.size and np.isin(known, (0, 1)).all():
        raise InputError(
            f"y of shape {values.shape} holds several labels each, and find answers for one class "
            "or for numbers; give one class per node"
        )
    if are_numbers or (values.ndim == 2 and values.dtype.kind == "f"):
        columns = values.reshape(len(values), -1).astype(np.float64)
        has_number = np.isfinite(columns)
        rows: Array = np.any(has_number, axis=1)
        return (), np.where(has_number, columns, np.nan), rows
    names, codes = read_labels(values)
    return tuple(str(name) for name in names), codes, codes >= 0


def _indices(part: Any, name: str, has_label: Array) -> Array:
    if part is None:
        return np.zeros(0, dtype=np.int64)
    given = as_array(part)
    if given.dtype.kind == "b":
        if given.shape != has_label.shape:
            raise InputError(
                f"{name} is a mask of shape {given.shape}; it needs one entry for each of "
                f"{len(has_label)} nodes"
            )
        given = np.flatnonzero(given)
    if given.dtype.kind not in "iu" or given.ndim != 1:
        raise InputError(
            f"{name} must be node indices or a mask, got {given.dtype} of {given.shape}"
        )
    if len(given) and (given.min() < 0 or given.max() >= len(has_label)):
        raise InputError(f"{name} names a node outside 0 ... {len(has_label) - 1}")
    if not has_label[given].all():
        node = int(given[~has_label[given]][0])
        raise InputError(f"node {node} is in {name} but has no label; leave it out or label it")
    return given.astype(np.int64)
