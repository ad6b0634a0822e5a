"""Certified intervals of expressions, from the intervals of the operators in them."""

from collections.abc import Callable

import torch
from torch import Tensor

from pgso.gso.algebra import Identity, Scaled, Sum
from pgso.gso.operator import ShiftOperator
from pgso.gso.polynomials import Polynomial, evaluate

Ends = tuple[Tensor, Tensor]


def expression_interval(op: ShiftOperator, of: Callable[[ShiftOperator], Ends]) -> Ends:
    """An interval for a certifiable expression; ``of`` finds the intervals of its parts.

    A multiple scales the ends. A sum of symmetric operators lies in the sum of their intervals
    (Weyl). The eigenvalues of p(γ) are p(λ), see :func:`range_of_polynomial`.
    """
    if isinstance(op, Identity):
        one = torch.ones((), dtype=torch.float64, device=op.device)
        return one, one
    if isinstance(op, Scaled):
        low, high = (op.factor * end for end in of(op.of))
        return torch.minimum(low, high), torch.maximum(low, high)
    if isinstance(op, Sum):
        (low, high), (other_low, other_high) = of(op.left), of(op.right)
        return low + other_low, high + other_high
    assert isinstance(op, Polynomial), type(op)
    return range_of_polynomial(op, *of(op.of))


def range_of_polynomial(op: Polynomial, low: Tensor, high: Tensor) -> Ends:
    """Bounds on p over [low, high]: its Bernstein coefficients there enclose its values.

    They are found from the values at Chebyshev's nodes, by a linear system that is solved in
    double precision, and widened by the rounding of that.
    """
    degree = len(op.coefficients) - 1
    k = torch.arange(degree + 1, dtype=torch.float64, device=op.device)
    t = (torch.pi * (k + 0.5) / (degree + 1)).cos()
    nodes = (low + high) / 2 + (high - low) / 2 * t
    values = _values(op, nodes)
    log_binomial = torch.lgamma(k.new_tensor(degree + 1.0)) - torch.lgamma(k + 1)
    binomial = (log_binomial - torch.lgamma(degree - k + 1)).exp()
    up, down = ((1 + t) / 2).unsqueeze(1), ((1 - t) / 2).unsqueeze(1)
    matrix = binomial * down ** (degree - k) * up**k
    bernstein = torch.linalg.solve(matrix, values)
    size = values.detach().abs().amax()
    error = torch.finfo(torch.float64).eps * torch.linalg.cond(matrix) * size * (degree + 1)
    return bernstein.amin() - error, bernstein.amax() + error


def _values(op: Polynomial, nodes: Tensor) -> Tensor:
    ones = torch.ones_like(nodes)
    c = op.coefficients.double()
    return evaluate(lambda x: nodes * x, ones, c, op.basis, **op.options)
