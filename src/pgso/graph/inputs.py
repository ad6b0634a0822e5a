"""What users hand over as a graph, read and checked.

Each ``edges_of_...`` returns (edge_index, weights, n). Each check refuses with one sentence what
torch would crash on or compute wrongly.
"""

from numbers import Integral
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

INDEX_TYPES = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
FEATURE_TYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
MOST_NODES = 2**31 - 1  # what 32-bit ids can name; a node takes tens of bytes
FORMS = "a pgso.Graph, an edge_index of shape (2, E), an adjacency matrix, PyG data or networkx"
MATRIX = "a matrix must be numeric and square, with real entries"


def as_array(graph: Any) -> Any:
    """Arrays and nested lists as tensors; other libraries' graphs as they are."""
    if not isinstance(graph, (np.ndarray, list, tuple)):
        return graph
    try:
        array = np.asarray(graph)
    except ValueError:
        raise InputError(f"graph must be {FORMS}; {MATRIX}, got rows of several lengths") from None
    if array.dtype.kind not in "biuf":
        raise InputError(f"graph must be {FORMS}; {MATRIX}, got an array of {array.dtype}")
    if array.dtype.kind in "iu":  # of which torch knows some only
        array = array.astype(np.int64)
    return torch.as_tensor(array)


def edges_of_data(data: "Data") -> Edges:
    """The edges of a PyTorch Geometric ``Data`` or ``Batch``."""
    if getattr(data, "edge_index", None) is not None:
        return data.edge_index, getattr(data, "edge_weight", None), int(data.num_nodes)
    adjacency = getattr(data, "adj_t", None)
    if isinstance(adjacency, Tensor):
        return edges_of_torch_sparse(adjacency)
    if not hasattr(data, "edge_index") and not hasattr(data, "adj_t"):
        raise InputError(f"graph must be {FORMS}, got {type(data).__name__}")
    raise InputError(
        f"{type(data).__name__} has neither edge_index nor a torch.sparse adj_t; set one of them"
    )


def edges_of_scipy(adjacency: "scipy.sparse.sparray | scipy.sparse.spmatrix") -> Edges:
    """The stored entries of a scipy sparse matrix."""
    if not hasattr(adjacency, "tocoo"):
        raise InputError(f"expected a scipy sparse matrix, got {type(adjacency).__name__}")
    n = check_square(adjacency.shape)
    entries = adjacency.tocoo()
    weight = np.array(entries.data)
    if np.iscomplexobj(weight):
        raise InputError("the matrix must be real, got complex numbers")
    if weight.dtype not in (np.float32, np.float64):
        weight = weight.astype(np.float32)
    pairs = np.stack([entries.col, entries.row]).astype(np.int64)
    return torch.from_numpy(pairs), torch.from_numpy(weight), n


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


def edges_of_torch_sparse(adjacency: Tensor, square: bool = True) -> Edges:
    """The stored entries of a torch.sparse tensor of any layout; gradients flow to them."""
    if not isinstance(adjacency, Tensor) or adjacency.layout == torch.strided:
        given = "a dense tensor" if isinstance(adjacency, Tensor) else type(adjacency).__name__
        raise InputError(f"expected a torch.sparse tensor, got {given}; see Graph.from_dense")
    n = check_square(adjacency.shape) if square else int(adjacency.shape[0])
    entries = (adjacency if adjacency.is_sparse else adjacency.to_sparse_coo()).coalesce()
    return entries.indices().flip(0), entries.values(), n


def check_square(shape: tuple[int, ...]) -> int:  # n
    """Refuse a matrix that is no A of one set of nodes."""
    if len(shape) != 2 or shape[0] != shape[1]:
        raise InputError(f"an adjacency matrix must be square, got shape {tuple(shape)}")
    return int(shape[0])


def weight_type() -> torch.dtype:
    """Torch's default type, or float32 if that is smaller: counts of many edges need the digits."""
    return torch.promote_types(torch.get_default_dtype(), torch.float32)


def check_edge_index(
    edge_index: Tensor, num_nodes: int | tuple[int, int] | None
) -> tuple[int, int]:  # targets, sources
    """Refuse anything but a (2, E) tensor of node ids below ``num_nodes``; return A's shape."""
    if not isinstance(edge_index, Tensor):
        raise InputError(
            f"edge_index must be a tensor of shape (2, E), got {type(edge_index).__name__}; "
            "Graph.of takes other forms, too"
        )
    if torch.jit.is_tracing():  # type: ignore[attr-defined]
        raise InputError(
            "torch.jit.trace would write this graph into the program as a constant; "
            "use torch.export.export(model, (x, edge_index))"
        )
    if edge_index.dim() != 2 or edge_index.size(0) != 2:
        raise InputError(f"edge_index must have shape (2, E), got {tuple(edge_index.shape)}")
    if edge_index.layout != torch.strided or edge_index.is_meta:
        raise InputError(
            "edge_index must be a dense tensor with values; see Graph.from_torch_sparse"
        )
    if edge_index.dtype not in INDEX_TYPES and edge_index.numel():
        raise InputError(f"edge_index must hold integers (torch.long), got {edge_index.dtype}")
    pair = isinstance(num_nodes, tuple)
    shape: Any = num_nodes if pair else (num_nodes, num_nodes)
    if len(shape) != 2:
        raise InputError(f"num_nodes must be n or (targets, sources), got {num_nodes!r}")
    low = int(edge_index.min()) if edge_index.numel() else 0
    if low < 0:
        raise InputError(f"edge_index holds the negative node id {low}; ids start at 0")
    highest = (edge_index.amax(1) + 1).tolist() if edge_index.numel() else [0, 0]
    shape = (max(highest), max(highest)) if num_nodes is None else shape
    for count in shape:
        if not isinstance(count, Integral) or count < 0:
            raise InputError(f"num_nodes must be an integer, 0 or more, got {count!r}")
        if int(count) > MOST_NODES:
            raise InputError(f"a graph has at most {MOST_NODES} nodes, got {count}; check the ids")
    if num_nodes is not None and hasattr(edge_index, "sparse_size"):
        check_sparse_size(edge_index, shape[1], shape[0])
    for what, needed, there in zip(("source", "target"), highest, reversed(shape), strict=True):
        if needed > there:
            node = what if pair else "node"
            raise InputError(
                f"edge_index names {node} {needed - 1}, but there are only {there} {node}s "
                f"(ids 0 to {there - 1}); check num_nodes, or the number of rows of x"
            )
    return shape[0], shape[1]


def check_sparse_size(edge_index: Any, sources: int, targets: int) -> None:
    """Refuse another number of nodes than PyG's ``EdgeIndex`` is made for."""
    if not hasattr(edge_index, "sparse_size"):
        return
    size = edge_index.sparse_size()  # None where it does not say
    for name, count, declared in zip(("source", "target"), (sources, targets), size, strict=True):
        if declared is not None and declared != count:
            raise InputError(
                f"there are {count} {name} nodes, but this EdgeIndex has sparse_size {size}, that "
                "is (sources, targets); pass one row of x for each of its nodes, or make an "
                "EdgeIndex of another sparse_size"
            )


def check_edge_weight(edge_weight: Tensor, position: Tensor) -> Tensor:
    """Refuse anything but one finite real weight per edge; return it as floating point, 1-D."""
    num_edges = position.numel()
    if not isinstance(edge_weight, Tensor):
        raise InputError(f"edge_weight must be a tensor, got {type(edge_weight).__name__}")
    if edge_weight.dim() == 2 and edge_weight.size(1) == 1:
        edge_weight = edge_weight.squeeze(1)
    if edge_weight.shape != (num_edges,):
        raise InputError(
            f"edge_weight must hold one number per edge, shape ({num_edges},), "
            f"got {tuple(edge_weight.shape)}"
        )
    if edge_weight.is_complex():
        raise InputError("edge_weight must be real, got complex numbers")
    if edge_weight.device != position.device:
        raise InputError(
            f"edge_weight is on {edge_weight.device}, edge_index on {position.device}; "
            "move them to one device"
        )
    if not edge_weight.is_floating_point():
        edge_weight = edge_weight.to(weight_type())
    elif edge_weight.dtype in (torch.float16, torch.bfloat16):
        edge_weight = edge_weight.float()  # sums of many small weights need the digits
    finite = edge_weight.detach().isfinite()
    if not bool(finite.all()):
        at = int((~finite).nonzero()[0])
        raise InputError(
            f"edge_weight must be finite, got {float(edge_weight[at])} at position {at}"
        )
    return edge_weight


def check_reversible(graph: Any) -> None:
    """Refuse to reverse a sampled graph: the edges out of its nodes were not drawn."""
    if getattr(graph, "sample", None) is not None:
        raise InputError(
            "a sampled graph has edges into its nodes only: @out and the flow 'target_to_source' "
            "need the whole graph (if it is undirected, @in is the same as @out)"
        )


def check_features(x: Tensor, num_nodes: int | None = None, device: Any = None) -> int:
    """Refuse anything but a dense floating-point tensor with rows; return their number.

    With the number and the device of a graph's nodes, x must have as many rows, and be there.
    """
    if not isinstance(x, Tensor):
        raise InputError(f"x must be a tensor of shape (n, F), got {type(x).__name__}")
    if x.layout != torch.strided:
        raise InputError(f"x must be dense, got {x.layout}; try x.to_dense()")
    if x.dtype not in FEATURE_TYPES:
        raise InputError(
            f"x must hold floating-point numbers of 16, 32 or 64 bits, got {x.dtype}; try x.float()"
        )
    if x.dim() == 0:
        raise InputError("x must have one row per node, shape (n, F), got a single number")
    rows = x.size(max(-2, -x.dim()))
    if num_nodes is not None and rows != num_nodes:
        raise InputError(
            f"x must have one row per node, shape ({num_nodes}, F), got {tuple(x.shape)}"
        )
    if device is not None and x.device != device:
        raise InputError(f"x is on {x.device}, the graph on {device}; move one: graph.to(x.device)")
    return rows


def check_pair(x: Any) -> tuple[Any, Any]:
    """Refuse anything but two features, of sources and of targets."""
    if len(x) != 2:
        raise InputError(f"a pair of features is (x_source, x_target), got {len(x)} of them")
    source, target = x
    return source, target
