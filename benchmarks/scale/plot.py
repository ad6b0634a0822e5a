"""Time and memory against edges, on logarithmic axes."""

from pathlib import Path
from typing import Any

import numpy as np


def draw(found: dict[str, Any], path: Path) -> float | None:
    """Write the figure; the slope of the time of γx, forward and backward, against edges."""
    rows = sorted(
        (row for name, row in found.items() if name.startswith("product")),
        key=lambda row: row["edges"],
    )
    if len(rows) < 2:
        return None
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    edges, seconds, epoch, memory = (
        np.array([row[name] for row in rows])
        for name in (
            "edges",
            "step_cpu_seconds",
            "sampled_epoch_cpu_seconds",
            "step_peak_gib",
        )
    )
    slope, offset = np.polyfit(np.log(edges), np.log(seconds), 1)
    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
    left.loglog(edges, seconds, "o", label="γx, forward and backward, F = 16")
    left.loglog(edges, np.exp(offset) * edges**slope, "--", label=f"slope {slope:.2f}")
    left.loglog(edges, epoch, "s", label="sampled epoch, 1 % of the nodes")
    left.set(xlabel="directed edges", ylabel="CPU seconds, one thread")
    left.legend(loc="lower right", fontsize="small")
    right.loglog(edges, memory, "o")
    right.set(xlabel="directed edges", ylabel="peak memory of the step, GiB", ylim=(0.1, 20))
    figure.savefig(path, dpi=150)
    plt.close(figure)
    return float(slope)
