"""What a stacked network is applied to: copies of a graph, features and draws of every replica."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from pgso.convs.sparse_features import (
    GLOBAL,
    Draws,
    Features,
    SparseFeatures,
    as_features,
    dense_dropout,
)
from pgso.graph import Graph, Relations
from pgso.graph.pattern import side_by_side
from pgso.graph.reach import Reach
from pgso.gso.module import PGSO
from pgso.gso.operator import ShiftOperator
from pgso.models.stacked.replica_shift import ReplicaShift


class StackedData:
    """The graph and the features of every replica, as a stacked network takes them.

    It stands where a graph stands: :meth:`operator_of` makes the operators of all replicas.
    """

    def __init__(
        self, graph: Graph | Relations, x: Sequence[Tensor], reach: Reach | None = None
    ) -> None:
        self.graph, self.count, self.reach = graph, len(x), reach
        self._copies: dict[Graph, Graph] = {}
        self._fixed: dict[PGSO, ShiftOperator] = {}  # their S never changes
        self.x: Features  # of all nodes
        self.reached: Features  # of those that the loss can see
        if x[0].layout != torch.strided:
            features = as_features(x[0])
            assert isinstance(features, SparseFeatures)
            self.x = self.reached = features.copies(self.count)
            if reach is not None:
                self.reached = ReachedFeatures.of_rows(features, reach.nodes[0], self.count)
            return
        self.x = torch.stack(tuple(x))
        if all(one is x[0] for one in x):
            self.x = x[0].expand(self.count, *x[0].shape)
        self.reached = self.x if reach is None else self.x.index_select(1, reach.nodes[0])

    def operator_of(self, gso: PGSO) -> ShiftOperator:
        """γ of every replica."""
        if gso in self._fixed:
            return self._fixed[gso]
        graph = gso.graph_of(self.graph)
        if graph not in self._copies:
            self._copies[graph] = graph.copies(self.count)
        columns = None
        if gso.degrees == "both" and not graph.is_undirected:
            columns = graph.column_sums
        operator = ReplicaShift(
            graph, self._copies[graph], gso.S, columns, not gso.learned, self.reach
        )
        if not gso.learned:
            self._fixed[gso] = operator
        return operator


class ReplicaDraws(Draws):
    """A generator for each replica; rows that a loss cannot see are drawn, and not looked at."""

    def __init__(self, generators: Sequence[torch.Generator], reach: Reach | None) -> None:
        super().__init__(generators)
        self.reach = reach

    def rows_of(self, x: Tensor) -> tuple[Tensor, int] | None:
        """The nodes of a layer."""
        if self.reach is None or x.dim() != 3:
            return None
        nodes = self.reach.nodes_of(x.size(1))
        return None if nodes is None else (nodes, self.reach.graph.num_nodes)


@dataclass(frozen=True, eq=False)
class ReachedFeatures(SparseFeatures):
    """Sparse features of some nodes. Dropout draws for all nodes, as a run alone does."""

    whole: Tensor  # (R nnz,) the values of all nodes
    chosen: Tensor  # where these features' values stand among them

    @classmethod
    def of_rows(cls, x: SparseFeatures, nodes: Tensor, copies: int) -> "ReachedFeatures":
        """The features of ascending nodes."""
        assert x.rows.rowptr is not None
        lengths = x.rows.rowptr.diff()
        present = torch.zeros(x.shape[0], dtype=torch.bool)
        present[nodes] = True
        chosen = present.repeat_interleave(lengths).nonzero().flatten()
        start = torch.zeros(nodes.numel() + 1, dtype=torch.int64)
        start[1:] = lengths[nodes].cumsum(0)
        rows = torch.sparse_csr_tensor(
            start, x.rows.col[chosen].long(), x.values[chosen], (nodes.numel(), x.shape[1]),
            check_invariants=False,
        )  # fmt: skip
        some = SparseFeatures.of(rows).copies(copies)
        return cls(
            some.rows,
            some.columns,
            some.order,
            some.values,
            some.shape,
            x.values.repeat(copies),
            side_by_side(chosen, x.values.numel(), copies),
        )

    def dropout(self, p: float, training: bool, draws: Draws = GLOBAL) -> SparseFeatures:
        """Dropout of the stored values of all nodes, of which these are some."""
        if not training or p == 0:
            return self
        whole = dense_dropout(self.whole, p, training, draws)
        return replace(self, values=whole.index_select(0, self.chosen))
