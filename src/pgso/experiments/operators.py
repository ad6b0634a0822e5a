"""Table 1: every known operator as a matrix on a small graph, its interval and its spectrum."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import networkx
import numpy as np

from pgso.experiments.study import EXPERIMENTS, Experiment, Size
from pgso.experiments.summaries import new_figure, save, table
from pgso.gso.presets import PRESETS
from pgso.records import RunRecord, RunSpec
from pgso.report.matrices import gershgorin, pgso_matrix

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
