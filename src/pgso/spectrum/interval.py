"""Theorem 2: an interval that contains every eigenvalue of γ(A, S), from degrees alone.

:func:`certified_interval` is the question; each kind of operator registers its answer below. The
eigenvalues of a polynomial p(γ) are p(λ), so that of an expression in one γ follows from γ's own.
"""

import math
from collections.abc import Callable
from functools import partial, singledispatch
from typing import Literal

import torch
from torch import Tensor

from pgso.errors import InputError, UnknownNameError
from pgso.graph import Graph, weighted_product
from pgso.graph.degrees import kinds_of_nodes, received_weight
from pgso.gso.algebra import Identity, Product, Scaled, Sum, bases_of, common_base
from pgso.gso.formula import Factors, factors
from pgso.gso.node_shift import ChannelShift, NodeShift
from pgso.gso.operator import ShiftOperator
from pgso.gso.polynomials import BASES, Polynomial, bernstein, evaluate, from_bernstein
from pgso.spectrum.certified import OnGraph, Parameters, certified

Ends = tuple[Tensor, Tensor]  # 0-d each; with an S per channel (F,) each

METHODS = ("theorem2", "optimal")
ROUNDING = 4 * torch.finfo(torch.float64).eps  # of the few operations behind an end
REACH = 4.0  # how far beyond s = 0 and s = e2 + e3 the search goes
SAMPLES = 32  # of a polynomial, for each degree
MOST_BERNSTEIN = 20  # the degree up to which Bernstein coefficients are found with enough digits


def gershgorin_interval(graph: OnGraph, S: Parameters = None) -> Ends:
    r"""Bounds on the spectrum of an undirected graph's PGSO, Theorem 2: O(n).

    .. math::
        C_i = m_1 (d_i + a)^{e_1} + m_2 (d_i + a)^{e_2 + e_3} (A_{ii} + a) + m_3, \qquad
        R_i = |m_2| (d_i + a)^{e_2 + e_3} \sum_{j \ne i} |A_{ij}|

    Every eigenvalue lies in :math:`[\min_i (C_i - R_i), \max_i (C_i + R_i)]`, whose two ends are
    returned in double precision, rounded outwards, differentiable in S. The printed theorem is the
    case without self-loops and with non-negative weights. A node with d_i + a ≤ 0 decouples: its
    row and column hold nothing but m3, which is then an eigenvalue.

    Args:
        graph: An operator on an undirected graph (another is refused with an offending edge),
            or an expression of such; or a graph, followed by S.
        S: Seven numbers or the name of a preset. With a value per channel, (7, 1, F), there is an
            interval per channel. With a value per node, (7, n, 1), there is one interval if no edge
            joins an m2 below 0 with one above: else eigenvalues need not be real: refused.
    """
    return certified_interval(certified(graph, S), "theorem2")


def interval(
    graph: OnGraph,
    S: Parameters = None,
    method: Literal["theorem2", "optimal"] = "optimal",
) -> Ends:
    r"""An interval that contains every eigenvalue of an undirected graph's PGSO.

    The matrix :math:`D_a^{e_3 - s}\, \gamma\, D_a^{s - e_3}` has γ's eigenvalues for every s, and
    Gershgorin's discs around the same centres :math:`C_i` (see :func:`gershgorin_interval`) with

    .. math::
        R_i(s) = |m_2| (d_i + a)^{e_2 + e_3 - s} \sum_{j \ne i} |A_{ij}| (d_j + a)^s.

    s = 0 is Theorem 2 (``method="theorem2"``). Each R_i is a sum of exponentials of s and therefore
    convex, so that one short search finds the best s for either end, about a dozen sparse products
    each. Arguments and ends are those of :func:`gershgorin_interval`; in the gradient s is held.

    Example:
        >>> star = Graph.from_edge_index(torch.tensor([[0, 0, 1, 2], [1, 2, 0, 0]]))
        >>> [round(float(end), 3) for end in interval(star, "adjacency")]  # ±√2 are eigenvalues
        [-1.414, 1.414]
    """
    if method not in METHODS:
        raise UnknownNameError("interval method", method, METHODS)
    return certified_interval(certified(graph, S), method)


@singledispatch
def certified_interval(op: ShiftOperator, method: str) -> Ends:
    """An interval that holds every eigenvalue of a certified operator."""
    raise InputError(f"no certified interval is known for a {type(op).__name__}")


@certified_interval.register
def _(op: NodeShift, method: str) -> Ends:
    """By one sparse product a try for the best s of either side: see :func:`interval`."""
    C, R = centres_and_radii(op)
    low, high = ends(C, R)
    if method == "theorem2" or op.S is None:  # an S per node is no power of degrees
        return low, high
    from scipy.optimize import minimize_scalar  # takes half a second to be imported

    graph, vectors = op.graph, op.factors()
    p = float((op.S[4] + op.S[5]).detach())
    d_a = graph.row_sums.detach() + op.S[6]
    scale = (vectors.outer * vectors.right).abs()
    coupled = scale.detach() != 0  # the others are eigenvalues by themselves
    sizes = graph.entries.detach().double().abs().index_fill(0, graph.pattern.diagonal, 0)

    def radii(s: float) -> Tensor:  # (n,)
        power = torch.where(d_a > 0, torch.where(d_a > 0, d_a, 1.0) ** s, 1.0)
        inward = torch.where(coupled, power, 0.0).unsqueeze(1)
        return scale / power * weighted_product(graph, sizes, inward).squeeze(1)

    best = []  # the s for which the low end, and the high one, is closest to the spectrum
    bounds = (min(0.0, p) - REACH, max(0.0, p) + REACH)
    with torch.no_grad():
        for side in (-1.0, 1.0):
            best.append(
                minimize_scalar(
                    lambda s, side: float((side * C + radii(s)).amax()),
                    args=(side,),
                    bounds=bounds,
                    method="bounded",
                    options={"xatol": 1e-3},
                )
            )
    s_low, s_high = (float(found.x) for found in best)
    best_low, best_high = ends(C, radii(s_low))[0], ends(C, radii(s_high))[1]
    return torch.maximum(low, best_low), torch.minimum(high, best_high)


@certified_interval.register
def _(op: ChannelShift, method: str) -> Ends:
    """An interval per channel. Discs are computed once per kind of node, not once per node."""
    degree, neighbours, loops, *_ = kinds_of_nodes(op.graph)
    assert op.S is not None
    vectors = factors(op.S.double().unbind(), degree.unsqueeze(1))
    by_row = None if loops is None else loops.unsqueeze(1)
    return ends(*discs(vectors, neighbours.unsqueeze(1), by_row))


@certified_interval.register
def _(op: Identity, method: str) -> Ends:
    one = torch.ones((), dtype=torch.float64, device=op.device)
    return one, one


@certified_interval.register
def _(op: Scaled, method: str) -> Ends:
    low, high = (op.factor * end for end in certified_interval(op.of, method))
    return torch.minimum(low, high), torch.maximum(low, high)


@certified_interval.register
def _(op: Polynomial, method: str) -> Ends:
    return range_over(partial(polynomial_at, op), *certified_interval(op.of, method))


@certified_interval.register(Sum)
@certified_interval.register(Product)
def _(op: Sum | Product, method: str) -> Ends:
    """Weyl: a sum of symmetric operators lies in the sum of their intervals."""
    bounds, base = [], common_base(op)
    if isinstance(op, Sum) and op.left.is_certifiable and op.right.is_certifiable:
        (low, high), (other_low, other_high) = (
            certified_interval(side, method) for side in (op.left, op.right)
        )
        bounds.append((low + other_low, high + other_high))
    if base is not None and base.is_certifiable:  # a polynomial of one operator
        bounds.append(range_over(partial(values_at, op), *certified_interval(base, method)))
    lows, highs = (torch.stack(side) for side in zip(*bounds, strict=True))
    return lows.amax(), highs.amin()


def ends(C: Tensor, R: Tensor) -> tuple[Tensor, Tensor]:
    """The ends of all discs together, rounded outwards unless they are short, as 0 or 4.5 are."""
    low, high = (C - R).amin(0), (C + R).amax(0)
    slack = ROUNDING * (C.detach().abs() + R.detach()).amax(0)
    is_long = [end.detach() != end.detach().float().double() for end in (low, high)]
    return low - slack * is_long[0], high + slack * is_long[1]


def centres_and_radii(op: NodeShift) -> tuple[Tensor, Tensor]:  # (n,) each
    """C_i and R_i of :func:`gershgorin_interval`, the disc of each node."""
    graph: Graph = op.graph
    loops = None if graph.loops is None else graph.loops.double()
    return discs(op.factors(), received_weight(graph), loops)


def discs(
    vectors: Factors,
    neighbours: Tensor,  # Σ_{j≠i} |A_ij|
    loops: Tensor | None,  # A_ii
) -> tuple[Tensor, Tensor]:
    """The discs of nodes with these factors."""
    scale = vectors.outer * vectors.right
    C = vectors.own if loops is None else vectors.own + scale * loops
    return C, scale.abs() * neighbours


# The polynomial that an expression is of its base, at some points: its values there, a bound on
# their rounding (0-d), and its degree.
Values = tuple[Tensor, Tensor, int]


def range_over(values_of: Callable[[Tensor], Values], low: Tensor, high: Tensor) -> Ends:
    """Bounds on a polynomial p over [low, high], from its values and a bound on their rounding.

    From the values at M of Chebyshev's nodes: max |p| ≤ max at the nodes / cos(π K / 2M) for a
    degree K < M (Ehlich and Zeller, 1964). And, for a low degree, from its Bernstein coefficients,
    which enclose its values. Both are widened by the rounding of what they come from.
    """

    def at(t: Tensor) -> Values:  # at points of [-1, 1]
        return values_of((low + high) / 2 + (high - low) / 2 * t)

    def nodes(count: int) -> Tensor:  # (count,) Chebyshev's
        k = torch.arange(count, dtype=torch.float64, device=low.device)
        return (torch.pi * (k + 0.5) / count).cos()

    degree = at(low.new_zeros(1))[2]
    count = SAMPLES * max(degree, 1)
    values, error, _ = at(nodes(count))
    least, most = values.amin(), values.amax()
    beyond = (most - least) / 2 / math.cos(math.pi * degree / (2 * count)) + error
    least, most = (least + most) / 2 - beyond, (least + most) / 2 + beyond
    if degree > MOST_BERNSTEIN:
        return least, most
    t = nodes(degree + 1)
    values, error, _ = at(t)
    matrix = bernstein(t, degree)
    coefficients = torch.linalg.solve(matrix, values)
    error = error * torch.linalg.cond(matrix)
    lower, upper = coefficients.amin() - error, coefficients.amax() + error
    return torch.maximum(least, lower), torch.minimum(most, upper)


@singledispatch
def values_at(op: ShiftOperator, nodes: Tensor) -> Values:
    """The polynomial that an expression is of its base, at the nodes."""
    return nodes, nodes.new_zeros(()), 1  # the base itself


@values_at.register
def _(op: Identity, nodes: Tensor) -> Values:
    return torch.ones_like(nodes), nodes.new_zeros(()), 0


@values_at.register
def _(op: Scaled, nodes: Tensor) -> Values:
    inner, error, degree = values_at(op.of, nodes)
    values = op.factor * inner
    return values, abs(op.factor) * error + _rounding(values), degree


@values_at.register(Sum)
@values_at.register(Product)
def _(op: Sum | Product, nodes: Tensor) -> Values:
    left, error, degree = values_at(op.left, nodes)
    right, other_error, other_degree = values_at(op.right, nodes)
    if isinstance(op, Sum):
        error = error + other_error + _rounding(left) + _rounding(right)
        return left + right, error, max(degree, other_degree)
    size, other = (side.detach().abs().amax() for side in (left, right))
    error = size * other_error + other * error + error * other_error
    return left * right, error + _rounding(left * right), degree + other_degree


@values_at.register
def _(op: Polynomial, nodes: Tensor) -> Values:
    if bases_of(op)[0] is op:  # a polynomial of an expression
        return nodes, nodes.new_zeros(()), 1
    return polynomial_at(op, nodes)


def polynomial_at(op: Polynomial, nodes: Tensor) -> Values:
    """The polynomial at the nodes."""
    c = op.coefficients.double()
    values = evaluate(lambda x: nodes * x, torch.ones_like(nodes), c, op.basis, **op.options)
    with torch.no_grad():  # the sizes of what is summed, which may cancel
        c = from_bernstein(c) if op.basis == "bernstein" else c
        one = torch.ones_like(nodes)
        terms = BASES[op.basis](lambda x: nodes * x, one, len(c) - 1, **op.options)
        size = sum((c_k * term).abs().amax() for c_k, term in zip(c, terms, strict=True))
        return values, torch.finfo(torch.float64).eps * len(c) ** 2 * size, len(c) - 1


def _rounding(values: Tensor) -> Tensor:  # 0-d
    return 2 * torch.finfo(torch.float64).eps * values.detach().abs().amax()
