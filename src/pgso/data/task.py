"""A task: graphs, features, labels, splits and metric; all that training needs to know."""

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from torch import Tensor

from pgso.data.arrays import Array, Arrays, check_arrays, is_on_disk
from pgso.data.batch import Batch, Slices
from pgso.errors import InputError
from pgso.graph import Graph

if TYPE_CHECKING:
    import scipy.sparse

SPARSE_BELOW = 0.1  # the share of non-zeros under which features are stored as a sparse matrix
NARROW = 64  # columns up to which they stay dense anyway: the dense product costs nothing there


@dataclass(frozen=True, eq=False, repr=False)
class Task:
    """Nodes or graphs to be classified, with the split to do it on.

    ``x`` holds one row per node: floats (dense, or a torch.sparse CSR tensor where few entries
    are not zero), or integers, column c with ``categories[c]`` values, to be embedded. ``y`` is -1
    where the class is unknown. ``train``, ``val`` and ``test`` are indices of nodes or of graphs.

    Example:
        >>> from pgso.data import load_task
        >>> task = load_task("karate")
        >>> task
        Task(karate: 1 graph, 34 nodes, 156 edges, 34 features, 2 classes, accuracy)
        >>> task.classes
        ('Mr. Hi', 'Officer')
    """

    name: str
    kind: Literal["node", "graph"]
    metric: Literal["accuracy", "roc_auc"]
    graph: Graph  # of a graph task: all graphs side by side, a disjoint union
    x: Tensor  # (n, F)
    y: Tensor  # (n,) or (num_graphs,), int64
    train: Tensor  # int64 indices
    val: Tensor
    test: Tensor  # empty where a protocol has no test set
    classes: tuple[str, ...]  # names
    nodes_per_graph: Tensor  # (num_graphs,)
    categories: tuple[int, ...] | None = None
    edge_features: Tensor | None = None  # (num_edges, k) integers, in ``graph.edge_index``'s order
    ids: tuple[str, ...] | None = None  # what the user calls each node or graph
    columns: tuple[str, ...] | None = None  # and each column of x

    @classmethod
    def of(cls, name: str, arrays: Arrays) -> "Task":
        """Check what a source has read, and prepare its graph."""
        check_arrays(arrays, name)
        train, val, test = (_tensor(part) for part in arrays.split)
        sizes = arrays.nodes_per_graph
        weight = arrays.edge_weight
        graph = Graph.from_edge_index(
            _tensor(arrays.edge_index),
            None if weight is None else torch.from_numpy(weight.astype(np.float32)),
            arrays.num_nodes,
        )
        edge_features = arrays.edge_features
        if edge_features is not None:
            edge_features = edge_features[np.lexsort(arrays.edge_index)]
        return cls(
            name=name,
            kind="node" if sizes is None else "graph",
            metric="roc_auc" if arrays.metric == "roc_auc" else "accuracy",
            graph=graph,
            x=_features(arrays),
            y=_tensor(arrays.y),
            train=train,
            val=val,
            test=test,
            classes=arrays.classes,
            nodes_per_graph=_tensor(np.array([arrays.num_nodes]) if sizes is None else sizes),
            categories=arrays.categories,
            edge_features=None if edge_features is None else _tensor(edge_features),
            ids=arrays.ids,
            columns=arrays.columns,
        )

    @property
    def num_graphs(self) -> int:
        """The number of graphs; 1 for a node task."""
        return self.nodes_per_graph.numel()

    @property
    def num_nodes(self) -> int:
        """The number of nodes of all graphs together."""
        return self.graph.num_nodes

    @property
    def num_edges(self) -> int:
        """The number of directed edges of all graphs together."""
        return self.graph.num_edges

    @property
    def num_features(self) -> int:
        """The number of columns of x."""
        return self.x.size(1)

    @property
    def num_classes(self) -> int:
        """The number of classes."""
        return len(self.classes)

    def batch(self, indices: Tensor) -> Batch:
        """Some graphs as one: pure index arithmetic on the tensors that hold them all.

        Args:
            indices: Which graphs, int64; they come in this order, and may repeat.
        """
        if self.kind != "graph":
            raise InputError(f"{self.name} is one graph: train on task.graph instead of batches")
        return self._slices.batch(indices)

    def to(self, device: torch.device | str | None) -> "Task":
        """The same task on another device."""
        moved: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Tensor | Graph):
                moved[field.name] = value.to(device)
        return replace(self, **moved)

    @cached_property
    def _slices(self) -> Slices:
        return Slices(self.graph, self.x, self.y, self.nodes_per_graph)

    def __repr__(self) -> str:
        graphs = "1 graph" if self.num_graphs == 1 else f"{self.num_graphs} graphs"
        return (
            f"Task({self.name}: {graphs}, {self.num_nodes} nodes, {self.num_edges} edges, "
            f"{self.num_features} features, {self.num_classes} classes, {self.metric})"
        )


def _tensor(values: Array) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(values, dtype=np.int64))


def _features(arrays: Arrays) -> Tensor:
    x = arrays.x
    if arrays.categories is not None:
        assert isinstance(x, np.ndarray)
        return _tensor(x)
    if is_on_disk(x):
        return torch.from_numpy(x)
    n, columns = x.shape
    stored = np.count_nonzero(x) if isinstance(x, np.ndarray) else x.count_nonzero()
    # Batches take rows, which is quick where x is dense.
    may_be_sparse = columns > NARROW and arrays.nodes_per_graph is None
    if may_be_sparse and stored < SPARSE_BELOW * n * columns:
        return _csr(x)
    if not isinstance(x, np.ndarray):
        x = x.toarray()
    return torch.from_numpy(np.ascontiguousarray(x, dtype=np.float32))


def _csr(x: "Array | scipy.sparse.csr_array") -> Tensor:
    import scipy.sparse

    matrix = scipy.sparse.csr_array(x, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return torch.sparse_csr_tensor(
        _tensor(matrix.indptr),
        _tensor(matrix.indices),
        torch.from_numpy(matrix.data.astype(np.float32)),
        size=matrix.shape,
    )
