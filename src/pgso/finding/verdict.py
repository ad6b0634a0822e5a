"""The finding in one or two sentences."""

from collections.abc import Sequence

from pgso.records.finding import RungRecord

SUMS = ("adjacency", "gin", "signless_laplacian")


def verdict_of(
    best: RungRecord, reference: RungRecord, rungs: Sequence[RungRecord], metric: str
) -> str:
    """What the labels follow, what to use, and how much another rung could gain.

    Args:
        best: The rung that is kept.
        reference: GCN's own.
        rungs: All of them.
        metric: What points are points of.
    """
    over = None if reference.points is None else -reference.points
    gain = "" if over is None else f" ({_points(over, metric)} over GCN's own operator)"
    others = [rung for rung in rungs if rung.name != best.name and rung.points is not None]
    left = ""
    if others:
        next_best = max(others, key=lambda rung: rung.points or 0.0)
        most = next_best.points or 0.0
        if most > 0:
            surely = next_best.p is not None and next_best.p <= 0.025 and best.p is not None
            why = (
                "but a simpler one is as good within chance"
                if surely
                else "which is not significant"
            )
            more = _points(most, metric)
            left = f" The best alternative, {next_best.name}, shows {more} more, {why}."
        else:
            left = " No other operator of this family scores higher on these labels."
    return _what(best, gain) + left


def _what(best: RungRecord, gain: str) -> str:
    terms = " + ".join(best.terms)
    if best.family == "features":
        return f"Labels follow the features: the graph adds nothing here{gain}; use no graph."
    if best.family == "own":
        name = best.terms[0].upper()
        return f"Neighbours are alike: {name}'s own operator is right, nothing to gain."
    if best.family == "presets":
        preset = best.terms[0]
        if preset in SUMS:
            reason = "Degrees matter: use sums instead of means"
        elif "laplacian" in preset:
            reason = "Differences to the neighbours matter, not their mean"
        else:
            reason = "Neighbours help, with other weights for hubs than GCN's"
        return f"{reason}{gain}; use the preset {preset}."
    if best.family == "directions":
        return f"Direction matters: give each its own weights, {terms}{gain}."
    if best.family == "moments":
        return f"How alike neighbours are tells the graphs apart: {terms} with moments{gain}."
    if best.family == "learned":
        return f"A learned S fits this graph better than any preset: {terms}{gain}."
    return f"A node and its neighbours need weights of their own: {terms}{gain}."


def _points(value: float, metric: str) -> str:
    if metric == "r2":
        return f"{value:+.3f} R²"
    unit = "points" if metric == "accuracy" else "points of ROC-AUC"
    return f"{100 * value:+.1f} {unit}"
