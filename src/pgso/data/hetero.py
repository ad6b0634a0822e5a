"""PyG's ``HeteroData`` as one graph: nodes of several types, edges of several relations."""

from collections import Counter
from typing import Any

import numpy as np
import scipy.sparse

from pgso.data.arrays import Array, check_range
from pgso.data.inputs import as_array, read_features
from pgso.errors import InputError, UnknownNameError

WORDS = ("in", "out", "self", "")  # of terms, so that no relation can be called so


def target_type(data: Any, target: str | None) -> str:
    """The type of nodes that is learned about: the given one, or the only one with answers."""
    types: list[str] = list(data.node_types)
    if target is not None:
        if target not in types:
            raise UnknownNameError("type of nodes", target, types)
        return target
    answered: list[str] = [name for name in types if getattr(data[name], "y", None) is not None]
    if len(answered) == 1:
        return answered[0]
    if not answered:
        raise InputError(
            f"none of the types of nodes ({', '.join(types)}) has answers; give one a y"
        )
    raise InputError(
        f"several types of nodes have answers ({', '.join(answered)}), and a task is about one; "
        f"say which: Task.from_data(data, target={answered[0]!r})"
    )


def offsets(data: Any, target: str) -> dict[str, int]:
    """Where the nodes of each type begin: targets first, so that target i is node i."""
    places, offset = {}, 0
    for name in (target, *(name for name in data.node_types if name != target)):
        if data[name].num_nodes is None:
            raise InputError(f"nodes of type {name!r} need features x, or num_nodes")
        places[name] = offset
        offset += int(data[name].num_nodes)
    return places


def features(data: Any, places: dict[str, int]) -> "Array | scipy.sparse.csr_array":
    """Features of all nodes: each type has columns of its own.

    In the columns of other types it has zeros. A linear map of these columns is
    then a map for each type. A type without features has one column of ones.
    """
    blocks = []
    for name in places:
        x = getattr(data[name], "x", None)
        ones = np.ones((int(data[name].num_nodes), 1), dtype=np.float32)
        blocks.append(ones if x is None else read_features(x))
    if len(blocks) == 1:
        return blocks[0]
    return scipy.sparse.csr_array(scipy.sparse.block_diag(blocks, format="csr"))


def relation_names(edge_types: list[tuple[str, str, str]]) -> list[str]:
    """The middle word of an edge type, or all three where it alone is not enough.

    Example:
        >>> relation_names([("user", "rates", "film"), ("user", "to", "user"), ("film", "to", "a")])
        ['rates', 'user-to-user', 'film-to-a']
    """
    counts = Counter(word for _, word, _ in edge_types)
    return [
        word if counts[word] == 1 and word not in WORDS else f"{source}-{word}-{target}"
        for source, word, target in edge_types
    ]


def relations(data: Any, places: dict[str, int]) -> dict[str, tuple[Array, Array | None]]:
    """The edges of each relation between nodes of all types, and their weights."""
    parts: dict[str, tuple[Array, Array | None]] = {}
    types = list(data.edge_types)
    for name, (source, word, target) in zip(relation_names(types), types, strict=True):
        store = data[source, word, target]
        if getattr(store, "edge_index", None) is None:
            raise InputError(f"the edges {(source, word, target)} need an edge_index")
        edges = as_array(store.edge_index)
        for end, kind in zip(edges, (source, target), strict=True):
            what = f"the edges {(source, word, target)}: a node of type {kind!r}"
            check_range(end, 0, int(data[kind].num_nodes), what)
        shift = np.array([[places[source]], [places[target]]])
        weight = getattr(store, "edge_weight", None)
        parts[name] = (
            edges + shift,
            None if weight is None else as_array(weight).reshape(-1),
        )
    if not parts:
        raise InputError("the graph has no edges; give it an edge_index for a type of edges")
    return parts


def union(
    parts: dict[str, tuple[Array, Array | None]],
) -> tuple[Array, Array | None]:  # (2, E), (E,)
    """All edges together; those without weights have weight 1 beside others that have some."""
    edges = np.concatenate([pairs for pairs, _ in parts.values()], axis=1)
    if all(weight is None for _, weight in parts.values()):
        return edges, None
    weights = [
        np.ones(pairs.shape[1], dtype=np.float32) if weight is None else weight
        for pairs, weight in parts.values()
    ]
    return edges, np.concatenate(weights)
