"""The figure of the README: the hand-picked operator, its seven scalars learning, what they become.

``python docs/figures/overview.py`` trains on Minesweeper and writes docs/assets/overview.jsonl and
overview.png; with ``--draw`` it only draws, from the records that are there.
"""

import sys
from pathlib import Path

import networkx
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pgso.gso.parameters import NAMES
from pgso.records import RunRecord, RunSpec
from pgso_studies.ledger import read_ledger, write_ledger
from pgso_studies.operators import pgso_matrix
from pgso_studies.summaries import LINES

ASSETS = Path(__file__).parents[1] / "assets"
RECORDS, PICTURE = ASSETS / "overview.jsonl", ASSETS / "overview.png"
SEEDS, OPERATORS = range(3), ("fixed", "pgso", "mpgso")
LABELS = {"fixed": "fixed GCN", "pgso": "PGSO", "mpgso": "mPGSO"}


def train() -> list[RunRecord]:
    """Three operators, three seeds, a hundred epochs each: as in ``make demo``."""
    from pgso import fit

    base = RunSpec(dataset="minesweeper", num_layers=3, norm="batch", epochs=100)
    return [fit(base.but(operator=name, seed=seed)) for seed in SEEDS for name in OPERATORS]


def draw(records: list[RunRecord]) -> Figure:
    """Four panels, left to right: before, during, after, and what it was good for."""
    figure = Figure(figsize=(13, 3.1), layout="constrained")
    before, during, after, scores = figure.subplots(1, 4, width_ratios=(1, 1.5, 1, 1.1))
    (run,) = (r for r in records if r.spec.operator == "pgso" and r.spec.seed == 0)
    draw_operator(before, run.start[0], "hand-picked: GCN's operator")
    draw_scalars(during, run)
    draw_operator(after, run.parameters[0], "learned: it sharpens")
    draw_scores(scores, records)
    return figure


def draw_operator(axis: Axes, S: tuple[float, ...], title: str) -> None:
    """γ(A, S) on a small board of the game: blue is positive, red negative."""
    board = networkx.strong_product(networkx.path_graph(4), networkx.path_graph(4))
    gamma = pgso_matrix(networkx.to_numpy_array(board), S)
    size = np.abs(gamma).max()
    axis.imshow(gamma, cmap="RdBu", vmin=-size, vmax=size)
    axis.set(xticks=[], yticks=[], xlabel="a board of 4 x 4 cells")
    axis.set_title(title, fontsize=10)


def draw_scalars(axis: Axes, run: RunRecord) -> None:
    """The seven scalars, epoch by epoch."""
    path = np.array([S[0] for S in run.curves["parameters"]])
    for column, name in enumerate(NAMES):
        axis.plot(run.curves["epoch"], path[:, column], label=name, **LINES[name])
    axis.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))
    axis.set(xlabel="epoch")
    axis.set_title("seven scalars S, trained with the network", fontsize=10)
    axis.spines[["top", "right"]].set_visible(False)


def draw_scores(axis: Axes, records: list[RunRecord]) -> None:
    """One line a seed through the scores of the three operators."""
    for seed in SEEDS:
        runs = {r.spec.operator: r for r in records if r.spec.seed == seed}
        axis.plot(
            [LABELS[name] for name in OPERATORS],
            [100 * (runs[name].test or 0.0) for name in OPERATORS],
            color="#666666",
            marker="o",
            linewidth=0.8,
        )
    axis.set(ylabel="test ROC-AUC x 100", xmargin=0.2)
    axis.set_title("Minesweeper, a line a seed", fontsize=10)
    axis.spines[["top", "right"]].set_visible(False)


def main() -> None:
    """Train unless told only to draw."""
    if "--draw" not in sys.argv:
        write_ledger(RECORDS, train(), ("parameters",))
    figure = draw(list(read_ledger(RECORDS).values()))
    figure.savefig(PICTURE, dpi=200, metadata={"Software": None})


if __name__ == "__main__":
    main()
