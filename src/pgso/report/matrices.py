"""Equation (1) and Theorem 2 in numpy, for pages that must not load torch."""

from collections.abc import Sequence
from typing import Any

import numpy as np

Matrix = np.ndarray[Any, np.dtype[np.float64]]


def pgso_matrix(adjacency: Matrix, S: Sequence[Any]) -> Matrix:
    """γ(A, S) of a small graph, Equation (1); tested against :func:`pgso.dense_pgso`."""
    m1, m2, m3, e1, e2, e3, a = S
    identity = np.eye(len(adjacency))
    A_a = adjacency + a * identity
    d_a = A_a.sum(axis=1)

    def D_a(exponent: float) -> Matrix:
        return np.diag(_positive_power(d_a, exponent))

    gamma: Matrix = m1 * D_a(e1) + m2 * D_a(e2) @ A_a @ D_a(e3) + m3 * identity
    return gamma


def gershgorin(adjacency: Matrix, S: Sequence[Any]) -> tuple[float, float]:
    """The interval of Theorem 2; tested against :func:`pgso.spectrum.gershgorin_interval`."""
    m1, m2, m3, e1, e2, e3, a = S
    d_a = adjacency.sum(axis=1) + a
    scale = m2 * _positive_power(d_a, e2) * _positive_power(d_a, e3)
    loops = np.diag(adjacency)
    C = m1 * _positive_power(d_a, e1) + scale * (loops + a) + m3
    R = np.abs(scale) * (np.abs(adjacency).sum(axis=1) - np.abs(loops))
    return float((C - R).min()), float((C + R).max())


def _positive_power(base: Matrix, exponent: float) -> Matrix:
    elsewhere = float(exponent == 0)  # x⁰ = 1, as in pgso.gso.formula
    power: Matrix = np.where(base > 0, np.where(base > 0, base, 1.0) ** exponent, elsewhere)
    return power
