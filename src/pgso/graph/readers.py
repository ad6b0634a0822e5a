"""From other libraries' graphs to edge lists: each function returns (edge_index, weight, n)."""

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from pgso.errors import InputError

if TYPE_CHECKING:
    import networkx
    import scipy.sparse
    from torch_geometric.data import Data

Edges = tuple[Tensor, Tensor | None, int]


def edges_of_data(data: "Data") -> Edges:
    """The edges of a PyTorch Geometric ``Data`` or ``Batch``."""
    if getattr(data, "edge_index", None) is not None:
        return data.edge_index, getattr(data, "edge_weight", None), int(data.num_nodes)
    adjacency = getattr(data, "adj_t", None)
    if isinstance(adjacency, Tensor):
        return edges_of_torch_sparse(adjacency)
    raise InputError(
        f"{type(data).__name__} has neither edge_index nor a torch.sparse adj_t; set one of them"
    )


def edges_of_scipy(adjacency: "scipy.sparse.sparray | scipy.sparse.spmatrix") -> Edges:
    """The stored entries of a scipy sparse matrix."""
    if not hasattr(adjacency, "tocoo"):
        raise InputError(f"expected a scipy sparse matrix, got {type(adjacency).__name__}")
    n = _square(adjacency.shape)
    entries = adjacency.tocoo()
    weight = np.asarray(entries.data)
    if np.iscomplexobj(weight):
        raise InputError("the matrix must be real, got complex numbers")
    if weight.dtype not in (np.float32, np.float64):
        weight = weight.astype(np.float32)
    pairs = np.stack([entries.col, entries.row]).astype(np.int64)
    return torch.from_numpy(pairs), torch.from_numpy(weight.copy()), n


def edges_of_networkx(graph: "networkx.Graph", weight: str | None) -> Edges:
    """The edges of a networkx graph: both directions of each if it is undirected."""
    if not hasattr(graph, "adjacency") or not hasattr(graph, "is_directed"):
        raise InputError(f"expected a networkx graph, got {type(graph).__name__}")
    number = {node: position for position, node in enumerate(graph.nodes)}
    triples = [(number[u], number[v], w) for u, v, w in graph.edges(data=weight, default=1)]
    ends = torch.tensor([(u, v) for u, v, _ in triples], dtype=torch.int64).reshape(-1, 2).t()
    try:
        weights = torch.tensor([float(w) for *_, w in triples])
    except (TypeError, ValueError):
        raise InputError(
            f"the edge attribute {weight!r} must hold numbers; pass weight=None to leave it out"
        ) from None
    if not graph.is_directed():
        reverse = ends[0] != ends[1]  # a self-loop has one direction
        ends = torch.cat([ends, ends.flip(0)[:, reverse]], dim=1)
        weights = torch.cat([weights, weights[reverse]])
    return ends, weights, len(number)


def edges_of_dense(adjacency: Any) -> Edges:
    """The non-zero entries of a square tensor, array or nested list; gradients flow to them."""
    try:
        if not isinstance(adjacency, Tensor):
            adjacency = np.asarray(adjacency)
            if adjacency.dtype.kind in "iu":  # of which torch knows some only
                adjacency = adjacency.astype(np.float32)
        A = torch.as_tensor(adjacency)
    except (TypeError, ValueError) as error:
        raise InputError(f"the adjacency matrix must be numeric and square: {error}") from None
    if A.layout != torch.strided:
        raise InputError(f"expected a dense tensor, got {A.layout}; see Graph.from_torch_sparse")
    n = _square(A.shape)
    target, source = A.detach().nonzero(as_tuple=True)  # NaN counts as non-zero: refused later
    return torch.stack([source, target]), A[target, source], n


def edges_of_torch_sparse(adjacency: Tensor, square: bool = True) -> Edges:
    """The stored entries of a torch.sparse tensor of any layout; gradients flow to them."""
    if not isinstance(adjacency, Tensor) or adjacency.layout == torch.strided:
        given = "a dense tensor" if isinstance(adjacency, Tensor) else type(adjacency).__name__
        raise InputError(f"expected a torch.sparse tensor, got {given}; see Graph.from_dense")
    n = _square(adjacency.shape) if square else int(adjacency.shape[0])
    entries = (adjacency if adjacency.is_sparse else adjacency.to_sparse_coo()).coalesce()
    return entries.indices().flip(0), entries.values(), n


def _square(shape: tuple[int, ...]) -> int:
    if len(shape) != 2 or shape[0] != shape[1]:
        raise InputError(f"an adjacency matrix must be square, got shape {tuple(shape)}")
    return int(shape[0])
