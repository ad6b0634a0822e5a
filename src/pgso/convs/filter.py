"""Polynomial filters of a learned operator: GPR-GNN, ChebNet, BernNet and JacobiConv in one."""

from collections.abc import Collection
from typing import Any

import torch
from torch import Tensor, nn

from pgso.convs.architecture import CONVS, Conv, OnGraph, shifts_on
from pgso.convs.sparse_features import Features, Linear, as_features
from pgso.errors import InputError, UnknownNameError
from pgso.gso.module import PGSO, Shape
from pgso.gso.operator import ShiftOperator
from pgso.gso.polynomials import BASES, from_values, polynomial
from pgso.spectrum.interval import gershgorin_interval

FREE = ("e2", "a")  # what learns in P
TELEPORT = 0.1  # of the personalised PageRank that every filter starts from


class NormalisedPGSO(PGSO):
    r"""The line :math:`P = D_a^{-\alpha} A_a D_a^{\alpha - 1}` of the family, with α and a learned.

    P is similar to :math:`D_a^{-1/2} A_a D_a^{-1/2}`, so that its spectrum stays in [-1, 1] for
    every α (kept as -e2) and every a ≥ 0: each basis fits without scaling.
    """

    def __init__(self, learn: bool | Collection[str] = True) -> None:
        super().__init__("gcn", FREE if learn is True else learn)
        if not set(self.learned) <= set(FREE):
            raise InputError(
                f"in P = D_a^-α A_a D_a^(α-1) only e2 and a learn, got {', '.join(self.learned)}; "
                "start from a preset to learn others"
            )

    @property
    def S(self) -> Tensor:  # (7,)
        """e3 = -1 - e2, and |a| for a: a bound at 0 would hold it there without a gradient."""
        values = [self.m1, self.m2, self.m3, self.e1, self.e2, -1 - self.e2, self.a.abs()]
        return torch.stack(values)


@CONVS.register("filter")
class FilterConv(Conv):
    r"""A polynomial of the operator after a linear map, with learned coefficients.

    .. math::
        H^{(l+1)} = \sum_{k=0}^K c_k\, p_k(P)\, H^{(l)} W^{(l)} + b

    All bases start as the same function of P, personalised PageRank
    :math:`\sum_k \alpha (1 - \alpha)^k P^k` (for Bernstein's, its approximation). In the basis
    ``"chebyshev"`` the values of the filter at Chebyshev's nodes are learned (ChebNet II), in
    ``"bernstein"`` coefficients are kept at 0 or above, in ``"jacobi"`` every channel has its own.

    Args:
        in_channels: Features per node, or -1 to find out on first use.
        gso: The operator; by default a learned :class:`NormalisedPGSO`. Another γ is scaled into
            [-1, 1] by its certified interval, unless the basis is monomial. That needs an
            undirected graph; in a batch of graphs it is the interval of them all, so that the
            output of a graph depends on the others.
        K: The degree of the polynomial.
        basis: ``"monomial"``, ``"chebyshev"``, ``"bernstein"`` or ``"jacobi"``.
    """

    preset = "gcn"
    many_hops = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        gso: PGSO | str | None = None,
        K: int = 10,
        basis: str = "monomial",
        bias: bool = True,
    ) -> None:
        if basis not in BASES:
            raise UnknownNameError("basis", basis, BASES)
        if not isinstance(K, int) or isinstance(K, bool) or K < 0:
            raise InputError(f"K, the degree of the filter, must be an integer from 0 on, got {K}")
        super().__init__(in_channels, out_channels, NormalisedPGSO() if gso is None else gso)
        self.K, self.basis = K, basis
        self.lin = Linear(in_channels, out_channels, bias=False, weight_initializer="glorot")
        self.bias = nn.Parameter(torch.zeros(out_channels)) if bias else None
        width = (out_channels,) if basis == "jacobi" else ()
        self.coefficients = nn.Parameter(torch.empty(K + 1, *width))
        self.reset_parameters()

    @classmethod
    def make_operators(cls, start: Any, learn: Any, shape: Shape, **options: Any) -> list[PGSO]:
        del options
        if start is None and shape == "scalar":
            return [NormalisedPGSO(learn)]
        return super().make_operators(start, learn, shape)

    def reset_parameters(self) -> None:
        """Draw new weights; the filter is PageRank's again."""
        super().reset_parameters()
        start = start_coefficients(self.K, self.basis)
        with torch.no_grad():
            self.coefficients.copy_(start if self.coefficients.dim() == 1 else start.unsqueeze(1))

    def forward(
        self,
        x: Features,  # (n, in_channels)
        edge_index: OnGraph,
        edge_weight: Tensor | None = None,  # (E,)
    ) -> Tensor:  # (n, out_channels)
        """Transform, then filter."""
        x = as_features(x)
        (operator,) = shifts_on(
            self.operators, x, edge_index, edge_weight, self.explain is not False
        )
        hidden = self.lin.times_weight(x)
        c: Tensor = self.coefficients
        if self.basis == "chebyshev":
            c = from_values(c)
        elif self.basis == "bernstein":
            c = c.relu()
        out = polynomial(self.scaled(operator), c, self.basis).times(hidden)
        return out if self.bias is None else out + self.bias

    def scaled(self, operator: ShiftOperator) -> ShiftOperator:
        """P: the operator itself if its spectrum is in [-1, 1] by construction, else scaled."""
        if isinstance(self.gso, NormalisedPGSO) or self.basis == "monomial":
            return operator
        low, high = gershgorin_interval(operator)
        centre, half = (low + high) / 2, ((high - low) / 2).clamp(min=1e-12)
        return (1 / half) * operator - (centre / half) * operator**0


def start_coefficients(K: int, basis: str) -> Tensor:  # (K + 1,)
    """The parameters with which a filter is PageRank's."""
    k = torch.arange(K + 1, dtype=torch.float64)
    powers = TELEPORT * (1 - TELEPORT) ** k
    powers[-1] = (1 - TELEPORT) ** K

    def values(t: Tensor) -> Tensor:
        return (powers * t.unsqueeze(1) ** k).sum(1)

    nodes = (torch.pi * (k + 0.5) / (K + 1)).cos()
    if basis == "monomial":
        return powers
    if basis == "chebyshev":
        return values(nodes)
    if basis == "bernstein":
        return values(2 * k / max(K, 1) - 1)
    columns = BASES[basis](lambda x: nodes * x, torch.ones_like(nodes), K)
    start: Tensor = torch.linalg.solve(torch.stack(list(columns), dim=1), values(nodes))
    return start
