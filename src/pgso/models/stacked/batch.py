"""A batch of graphs of every replica, as a stacked network takes them."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from pgso.data import Task
from pgso.gso.module import PGSO
from pgso.gso.operator import ShiftOperator
from pgso.models.gnn import GNN
from pgso.models.stacked.layout import Layout
from pgso.models.stacked.ragged_shift import RaggedShift


class StackedBatch:
    """The graphs of every replica side by side, one replica after another.

    It stands where a graph stands: :meth:`operator_of` makes the operators of all replicas.

    Args:
        task: All graphs, unweighted and undirected.
        indices: Which of them each replica has.
    """

    def __init__(self, task: Task, indices: Sequence[Tensor]) -> None:
        chosen = torch.cat([*indices])
        batch = task.batch(chosen)
        self.x, self.batch, self.num_graphs = batch.x, batch.batch, batch.num_graphs
        self.graph = replace(batch.graph, num_copies=len(indices))
        self.graphs = [part.numel() for part in indices]
        sizes = task.nodes_per_graph.index_select(0, chosen).numpy()
        starts = np.cumsum([0, *self.graphs[:-1]])
        self.nodes: list[int] = np.add.reduceat(sizes, starts).tolist()
        self._fixed: dict[PGSO, ShiftOperator] = {}  # their S never changes

    def operator_of(self, gso: PGSO) -> ShiftOperator:
        """γ of every replica."""
        if gso in self._fixed:
            return self._fixed[gso]
        operator = RaggedShift(self.graph, self.nodes, gso.S, fixed=not gso.learned)
        if not gso.learned:
            self._fixed[gso] = operator
        return operator

    def through(self, model: GNN, layout: Layout) -> tuple[Tensor, ...]:  # (graphs, outputs) each
        """The outputs of every replica's graphs."""
        layout.nodes, layout.graphs = self.nodes, self.graphs
        out: Tensor = model(self.x, self, None, self.batch, self.num_graphs)
        return torch.split(out, self.graphs)
