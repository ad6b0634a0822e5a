"""The numbers behind the interactive plots, as JSON that is safe inside a script element."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pgso.records import RunRecord
from pgso.records.record import Spectra
from pgso.report.comparison import Comparison
from pgso.report.evaluation import evaluation_plots
from pgso.report.series import (
    Band,
    by_operator,
    curve_band,
    interval_at_start,
    is_number,
    points_of,
    thinned,
)
from pgso.report.words import LABELS

MOST_EPOCHS = 240  # points of a curve; more cannot be seen, and make the page heavy


def payload(records: Sequence[RunRecord], comparison: Comparison) -> dict[str, Any]:
    """Everything the page's script draws; epochs are counted from 1, and 0 is the start."""
    objective = comparison.objective
    percent = objective.shown(1.0)
    return {
        "metric": objective.heading,
        "labels": LABELS,
        "candidate": comparison.candidate,
        "scores": _scores(records, comparison),
        "curves": {
            name: {
                operator: _band(band)
                for operator, group in by_operator(records, LABELS).items()
                if (band := curve_band(group, name, scale)) is not None
            }
            for name, scale in (("loss", 1.0), ("val", percent), ("test", percent))
        },
        "chosen": [
            {"operator": name, "epochs": [run.epoch + 1 for run in group if run.epoch is not None]}
            for name, group in by_operator(records, LABELS).items()
        ],
        "evaluation": evaluation_plots(records),
        "runs": [_run(record) for record in learned_runs(records)],
    }


def learned_runs(records: Sequence[RunRecord]) -> list[RunRecord]:
    """The runs whose operators can be looked at epoch by epoch, by operator and seed."""
    learned = [name for name in LABELS if name != "fixed"]
    groups = by_operator(records, learned).values()
    moves = [run for group in groups for run in group if run.curves.get("parameters")]
    return [run for run in moves if run.spec.operator != "found" or run.chosen != "fixed"]


def embedded(value: Any) -> str:
    r"""JSON that cannot end the script element it stands in, with any strings in it.

    Example:
        >>> embedded({"name": "</script>&"})
        '{"name":"\\u003c/script\\u003e\\u0026"}'
    """
    text = json.dumps(_drawable(value), separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _scores(records: Sequence[RunRecord], comparison: Comparison) -> dict[str, Any]:
    seeds: dict[int, dict[str, float]] = {}
    for record in records:
        if record.test is not None:
            shown = comparison.objective.shown(record.test)
            seeds.setdefault(record.spec.seed, {})[record.spec.operator] = shown
    return {
        "operators": comparison.operators,
        "seeds": [{"seed": seed, "test": seeds[seed]} for seed in sorted(seeds)],
        "means": {
            summary.operator: {"mean": summary.mean, "interval": summary.interval}
            for summary in comparison.test.summaries
        },
    }


def _band(band: Band) -> dict[str, list[float]]:
    places = thinned(len(band.epochs), MOST_EPOCHS)
    return {
        name: [getattr(band, name)[position] for position in places]
        for name in ("epochs", "mean", "low", "high")
    }


def _run(record: RunRecord) -> dict[str, Any]:
    """One run, with the start as epoch 0 of every curve."""
    spectra = record.spectra or Spectra()
    points, bounds = dict(points_of(record, "parameters")), dict(points_of(record, "interval"))
    chosen = None if record.epoch is None else record.epoch + 1
    if chosen is not None:
        points[chosen] = record.parameters  # a thinned record may have left this epoch out
    epochs = sorted(points)
    keep = [] if chosen is None else [epochs.index(chosen)]
    shown = [(epochs[k], points[epochs[k]]) for k in thinned(len(epochs), MOST_EPOCHS, keep)]
    intervals = None
    if bounds:
        layers = range(len(record.start))
        at_start = [interval_at_start(record, layer) for layer in layers]
        intervals = [at_start, *(bounds.get(epoch) for epoch, _ in shown)]
    return {
        "operator": record.spec.operator,
        "seed": record.spec.seed,
        "chosen": chosen,
        "epochs": [0, *(epoch for epoch, _ in shown)],
        "parameters": [record.start, *(operators for _, operators in shown)],
        "intervals": intervals,
        "start": spectra.get("start", []),
        "learned": spectra.get("learned", []),
        "byEpoch": spectra.get("by_epoch", []),
        "subgraph": spectra.get("subgraph"),
    }


def _drawable(value: Any) -> Any:
    """Five significant digits, and null where there is no number to draw."""
    if isinstance(value, Mapping):
        return {str(key): _drawable(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_drawable(entry) for entry in value]
    if isinstance(value, float):
        return float(f"{value:.5g}") if is_number(value) else None
    return value
