"""Table 1: every known operator as a matrix on a small graph, its interval and its spectrum."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import networkx
import numpy as np

from pgso.gso.parameters import PRESETS
from pgso.records import RunRecord, RunSpec
from pgso_studies.study import EXPERIMENTS, Experiment, Size
from pgso_studies.summaries import new_figure, save, table

ACROSS = 5  # matrices in a row


class Operators(Experiment):
    """All presets on a small graph; nothing is trained."""

    title = "Known operators as choices of S"
    paper = "Table 1"

    def runs(self, size: Size, done: Mapping[str, RunRecord]) -> list[RunSpec]:
        """None."""
        del size, done
        return []

    def page(self, records: Sequence[RunRecord], figures: Path) -> str:
        """Each preset's matrix, the interval of Theorem 2, and the true extremes."""
        del records
        graph = networkx.krackhardt_kite_graph()
        A = networkx.to_numpy_array(graph)
        down = math.ceil(len(PRESETS) / ACROSS)
        figure = new_figure(ACROSS, down, width=2.1, height=2.2)
        axes = figure.subplots(down, ACROSS).flat
        rows = []
        for (name, preset), axis in zip(PRESETS.items(), axes, strict=False):
            S = preset.as_floats()
            gamma = pgso_matrix(A, S)
            eigenvalues = np.linalg.eigvals(gamma)
            assert np.abs(eigenvalues.imag).max() < 1e-9  # Theorem 1
            low, high = gershgorin(A, S)
            size = max(np.abs(gamma).max(), 1e-9)
            axis.imshow(gamma, cmap="RdBu", vmin=-size, vmax=size)
            axis.set(xticks=[], yticks=[])
            axis.set_title(name.replace("_", " "), fontsize=7)
            rows.append(
                (
                    f"`{name}`",
                    "(" + ", ".join(f"{value:g}" for value in S) + ")",
                    f"[{round(low, 3) + 0.0:.3f}, {high:.3f}]",
                    f"{eigenvalues.real.min():.3f} … {eigenvalues.real.max():.3f}",
                )
            )
        for axis in axes:  # those without a matrix
            axis.axis("off")
        header = ["operator", "(m1, m2, m3, e1, e2, e3, a)", "Theorem 2", "eigenvalues"]
        return (
            f"# {self.title} ({self.paper})\n\nKrackhardt's kite: 10 nodes, 18 edges. Blue is "
            "above 0, red below, dark the largest entry of each matrix.\n\n"
            f"{save(figure, figures, 'table_1')}\n\n{table(header, rows)}\n\n---\n"
            "Made by `pgso report operators`.\n"
        )


EXPERIMENTS.register("operators")(Operators())


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
