"""Section 3.3: the operator as a module whose seven scalars are trained with the network."""

from collections.abc import Collection, Sequence

import torch
from torch import Tensor, nn

from pgso.errors import InputError, UnknownNameError
from pgso.graph import Graph, as_graph, weighted_product
from pgso.gso.explanation import EdgeMasking
from pgso.gso.message_passing import graph_for, pgso_entries, propagate
from pgso.gso.parameters import NAMES, PGSOParameters, Scalar
from pgso.gso.presets import resolve


class PGSO(EdgeMasking):
    """A graph shift operator γ(A, S), learned, fixed, or learned in part.

    One module in several layers is the paper's PGSO (they share S); one module per layer is mPGSO.

    Args:
        S: Where the scalars start: the name of a preset, or seven numbers.
        learn: ``True`` for all seven, ``False`` for none, or the names of those that learn.

    Example:
        >>> PGSO("gcn", learn=("m2", "a"))
        PGSO(m1=0, m2=1, m3=0, e1=0, e2=-0.5, e3=-0.5, a=1, learn=m2,a)
        >>> path = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
        >>> PGSO("adjacency")(torch.tensor([[1.], [2.], [4.]]), path).flatten()
        tensor([2., 5., 2.], grad_fn=<ViewBackward0>)
    """

    m1: Tensor
    m2: Tensor
    m3: Tensor
    e1: Tensor
    e2: Tensor
    e3: Tensor
    a: Tensor

    def __init__(
        self,
        S: str | Sequence[Scalar] | Tensor = "gcn",
        learn: bool | Collection[str] = True,
    ) -> None:
        super().__init__()
        self.start = resolve(S).as_floats()
        self.learned = _learned_names(learn)
        for name, value in zip(NAMES, self.start, strict=True):
            scalar = torch.tensor(float(value))
            if name in self.learned:
                self.register_parameter(name, nn.Parameter(scalar))
            else:
                self.register_buffer(name, scalar)

    def reset_parameters(self) -> None:
        """Go back to where the scalars started."""
        with torch.no_grad():
            for name, value in zip(NAMES, self.start, strict=True):
                getattr(self, name).fill_(value)

    @property
    def S(self) -> Tensor:  # (7,)
        """The current S as one vector, attached to the scalars."""
        return torch.stack([self.m1, self.m2, self.m3, self.e1, self.e2, self.e3, self.a])

    def parameters_tuple(self) -> PGSOParameters:
        """The current S as plain floats."""
        return PGSOParameters(*self.S.tolist())

    def forward(
        self,
        x: Tensor,  # (n, F), (n,) or (..., n, F)
        graph: Graph | Tensor,
        edge_weight: Tensor | None = None,  # (E,), with an edge_index only
    ) -> Tensor:  # of x's shape
        """γ(A, S) x: see :func:`pgso.apply_pgso`."""
        prepared = graph_for(x, graph, edge_weight)
        S = self.S.double() if x.dtype == torch.float64 else self.S.float()
        if self.explain:
            entries = self.masked(pgso_entries(prepared, S), prepared, graph)
            return weighted_product(prepared, entries.to(x.dtype), x)
        return propagate(x, prepared, S)

    def to_torch_sparse(self, graph: Graph | Tensor, edge_weight: Tensor | None = None) -> Tensor:
        """γ(A, S) as a torch.sparse COO matrix, differentiable in S, to hand to others."""
        graph = as_graph(graph, edge_weight)
        S = self.S.to(graph.dtype)
        index = torch.stack([graph.pattern.row, graph.pattern.col]).long()
        size = (graph.num_nodes, graph.num_nodes)
        return torch.sparse_coo_tensor(index, pgso_entries(graph, S), size, is_coalesced=True)

    def extra_repr(self) -> str:
        """The current values, and which of them learn."""
        values = ", ".join(f"{k}={v:.4g}" for k, v in self.parameters_tuple()._asdict().items())
        if len(self.learned) == len(NAMES):
            return values
        return f"{values}, learn={','.join(self.learned) or False}"


def _learned_names(learn: bool | Collection[str]) -> tuple[str, ...]:
    if isinstance(learn, bool):
        return NAMES if learn else ()
    if isinstance(learn, str):
        learn = (learn,)
    try:
        wanted = set(learn)
    except TypeError:
        raise InputError(
            f"learn takes True, False or names out of {', '.join(NAMES)}, got {learn!r}"
        ) from None
    for name in wanted:
        if name not in NAMES:
            raise UnknownNameError("parameter", name, NAMES)
    return tuple(name for name in NAMES if name in wanted)
