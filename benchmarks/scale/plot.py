"""Time and memory against edges, on logarithmic axes."""

from pathlib import Path
from typing import Any

import numpy as np

from pgso.report.words import OPERATORS
from pgso_studies.summaries import figure_of, legend_beside, panels, save


def draw(measured: dict[str, Any], path: Path) -> float | None:
    """Write the figure; the slope of the time of γx, forward and backward, against edges."""
    rows = sorted(
        (row for name, row in measured.items() if name.startswith("product")),
        key=lambda row: row["edges"],
    )
    if len(rows) < 2:
        return None
    names = ("edges", "step_cpu_seconds", "sampled_epoch_cpu_seconds", "step_peak_gib")
    edges, seconds, epoch, memory = (np.array([row[name] for row in rows]) for name in names)
    slope, offset = np.polyfit(np.log(edges), np.log(seconds), 1)
    left, right = panels(2, width=2.7, height=2.4)
    product, sampled = OPERATORS["pgso"], OPERATORS["mpgso"]
    left.loglog(edges, seconds, "o", color=product, label="γx, forward\nand backward, F = 16")
    fitted = np.exp(offset) * edges**slope
    left.loglog(edges, fitted, "--", color=product, label=f"fitted slope {slope:.2f}")
    left.loglog(edges, epoch, "s", color=sampled, label="sampled epoch,\n1 % of the nodes")
    left.set(xlabel="directed edges", ylabel="CPU seconds, one thread")
    right.loglog(edges, memory, "o", color=product)
    right.set(xlabel="directed edges", ylabel="peak memory of the step, GiB", ylim=(0.1, 20))
    legend_beside(left)
    save(figure_of([left]), path.parent, path.stem)
    return float(slope)
