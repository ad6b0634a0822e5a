"""Certified intervals of expressions, from the intervals of the operators in them."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from pgso.gso.algebra import Identity, Scaled, Sum
from pgso.gso.operator import ShiftOperator
from pgso.gso.polynomials import BASES, Polynomial, bernstein, evaluate, from_bernstein

Ends = tuple[Tensor, Tensor]

SAMPLES = 32  # of a polynomial, for each degree
MOST_BERNSTEIN = 20  # the degree up to which Bernstein coefficients are found with enough digits


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
    """Bounds on p over [low, high], widened by the rounding of what they come from."""
    bounds = [_by_samples(op, low, high)]
    if len(op.coefficients) <= MOST_BERNSTEIN + 1:
        bounds.append(_by_bernstein(op, low, high))
    lows, highs = (torch.stack(ends) for ends in zip(*bounds, strict=True))
    return lows.amax(), highs.amin()


def _by_samples(op: Polynomial, low: Tensor, high: Tensor) -> Ends:
    r"""From the values at M of Chebyshev's nodes (Ehlich and Zeller, 1964).

    .. math::
        \max |p| \le \max_{nodes} |p| \, / \cos(\pi K / 2 M) \qquad \text{for degree } K < M

    It is applied to p minus the middle of its values, and is 0.1 % of their range too wide.
    """
    degree = len(op.coefficients) - 1
    count = SAMPLES * max(degree, 1)
    values, error = values_at(op, _nodes(count, low, high))
    middle = (values.amin() + values.amax()) / 2
    beyond = (values.amax() - values.amin()) / 2 / math.cos(math.pi * degree / (2 * count)) + error
    return middle - beyond, middle + beyond


def _by_bernstein(op: Polynomial, low: Tensor, high: Tensor) -> Ends:
    """Its Bernstein coefficients on the interval enclose its values; exact at the two ends.

    They are found from the values at Chebyshev's nodes, by a linear system that is solved in
    double precision.
    """
    degree = len(op.coefficients) - 1
    t = _nodes(degree + 1, -torch.ones_like(low), torch.ones_like(high))
    values, error = values_at(op, (low + high) / 2 + (high - low) / 2 * t)
    matrix = bernstein(t, degree)
    coefficients = torch.linalg.solve(matrix, values)
    error = error * torch.linalg.cond(matrix)
    return coefficients.amin() - error, coefficients.amax() + error


def _nodes(count: int, low: Tensor, high: Tensor) -> Tensor:  # (count,)
    """Chebyshev's nodes in [low, high]."""
    k = torch.arange(count, dtype=torch.float64, device=low.device)
    return (low + high) / 2 + (high - low) / 2 * (torch.pi * (k + 0.5) / count).cos()


def values_at(op: Polynomial, nodes: Tensor) -> tuple[Tensor, Tensor]:  # of the nodes' shape, 0-d
    """The polynomial at the nodes, and a bound on the rounding of each value."""
    c = op.coefficients.double()
    values = evaluate(lambda x: nodes * x, torch.ones_like(nodes), c, op.basis, **op.options)
    with torch.no_grad():  # the sizes of what is summed, which may cancel
        c = from_bernstein(c) if op.basis == "bernstein" else c
        terms = BASES[op.basis](
            lambda x: nodes * x, torch.ones_like(nodes), len(c) - 1, **op.options
        )
        size = sum((c_k * term).abs().amax() for c_k, term in zip(c, terms, strict=True))
        return values, torch.finfo(torch.float64).eps * len(c) ** 2 * size
