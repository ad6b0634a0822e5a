"""γ of several replicas at once: one S each, on copies of one graph side by side."""

import torch
from torch import Tensor

from pgso.graph import Graph
from pgso.gso.formula import Factors, factors
from pgso.gso.gradients import propagated
from pgso.gso.node_shift import NodeShift, keeps_digits


class ReplicaShift(NodeShift):
    """R operators on one graph as one block-diagonal matrix, one product for all.

    Every block is what :func:`pgso.shift` would give for its S alone, to the last digit.

    Args:
        graph: The graph of one replica.
        copies: ``graph.copies(R)``.
        S: Shape (7, R).
        columns: What e3 acts on, if not the row sums.
        fixed: Whether S never learns.
    """

    one: Graph
    num_replicas: int

    def __init__(
        self,
        graph: Graph,
        copies: Graph,
        S: Tensor,  # (7, R)
        columns: Tensor | None = None,  # (n,)
        fixed: bool = False,
    ) -> None:
        count = S.size(1)
        classes = graph.degree_classes if columns is None and graph.is_undirected else None
        rows, index = graph.row_sums, None
        if classes is not None:
            rows, index = classes[0], copies.memo("replica_classes", lambda: _index(classes, count))
        tables = factors(S.double().unsqueeze(2).unbind(), rows, columns)
        size = (count, rows.numel())
        super().__init__(
            copies, Factors(*(part.expand(size).reshape(-1) for part in tables)), index, fixed=fixed
        )
        self._set(one=graph, num_replicas=count)

    def times(self, x: Tensor) -> Tensor:  # type: ignore[override]  # (R, n, F)
        """γ_r x_r for every replica r."""
        return self._matmul(x.reshape(-1, x.size(-1))).view(x.shape)

    def _matmul(self, x: Tensor) -> Tensor:
        if self.fixed:
            return super()._matmul(x)
        mixing = self._once("_mixing", self._mixing)
        if bool(mixing.all()):
            own, left, right = self._vectors(x.dtype)
            return propagated(x, own, left, right, self._held(x.dtype), self._graph())
        return self._in_part(x, mixing)

    def _mixing(self) -> Tensor:  # (R,) of booleans
        """Which replicas take γ x as one sum: each decides as it would alone."""
        shape = (self.num_replicas, -1)
        tables = [part.detach().view(shape).numpy() for part in self.tables]
        return torch.from_numpy(keeps_digits(tables, self.one, self.index is not None))

    def _in_part(self, x: Tensor, mixing: Tensor) -> Tensor:
        """Scale ∘ (P x) + rest ∘ x, where P is γ and rest 0 for the replicas that mix."""
        by_node = self.factors(x.dtype)
        own, outer, right = self._vectors(x.dtype)
        assert own is not None
        mixed = mixing.repeat_interleave(self.one.num_nodes)
        inside = torch.where(mixed, own, 0.0)
        left = torch.where(mixed, outer, by_node.left)
        scale = torch.where(mixed, 1.0, by_node.m2).unsqueeze(1).to(x.dtype)
        rest = torch.where(mixed, 0.0, own).unsqueeze(1).to(x.dtype)
        out = propagated(x, inside, left, right, None, self._graph())
        return scale * out + rest * x


def _index(classes: tuple[Tensor, Tensor, Tensor], count: int) -> Tensor:  # (R n,)
    degree, index, _ = classes
    starts = degree.numel() * torch.arange(count)
    return (starts.unsqueeze(1) + index).flatten()
