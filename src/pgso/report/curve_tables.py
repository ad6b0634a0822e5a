"""The numbers under the curves of a page: scores and S against epochs."""

from collections.abc import Sequence
from typing import Any

from pgso.objectives import Objective
from pgso.records import RunRecord
from pgso.report.grid import Grid
from pgso.report.labels import LABELS
from pgso.report.learned import by_network
from pgso.report.payload import learned_runs
from pgso.report.series import by_operator, curve_band, interval_bands, parameter_bands
from pgso.report.tables import curves_grid


def curve_grids(records: Sequence[RunRecord], objective: Objective) -> dict[str, Grid]:
    """Loss, validation and test scores against epochs, a column an operator."""
    titles = {
        "loss": "Training loss",
        "val": f"Validation {objective.heading}",
        "test": f"Test {objective.heading}",
    }
    grids = {}
    for name, title in titles.items():
        scale = 1.0 if name == "loss" else objective.shown(1.0)
        bands = {
            LABELS[operator]: band
            for operator, group in by_operator(records, LABELS).items()
            if (band := curve_band(group, name, scale)) is not None
        }
        if bands:
            grids[name] = curves_grid(f"{title}, by epoch", bands)
    return grids


def trajectory_grids(records: Sequence[RunRecord]) -> list[Grid]:
    """S and the certified interval against epochs, one table an operator."""
    grids = []
    for name, group in by_network(learned_runs(records)).items():
        for layer in range(len(group[0].start)):
            bands: dict[str, Any] = dict(parameter_bands(group, layer))
            ends = interval_bands(group, layer)
            if ends is not None:
                bands |= {"interval low": ends[0], "interval high": ends[1]}
            grids.append(curves_grid(f"{name}, operator {layer + 1}", bands))
    return grids
