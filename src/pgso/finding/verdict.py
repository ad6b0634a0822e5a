"""The finding in one or two sentences."""

from collections.abc import Sequence

from pgso.objectives import Objective
from pgso.records.finding import GraphStatistics, RungRecord

ALIKE = "Neighbours are alike"
OPPOSED = -0.1  # adjusted homophily below which neighbours are clearly of other classes
SUMS = ("adjacency", "gin", "signless_laplacian")


def verdict_of(
    best: RungRecord,
    reference: RungRecord,
    rungs: Sequence[RungRecord],
    objective: Objective,
    graph: GraphStatistics | None = None,
) -> str:
    """What the labels follow, what to use, and how much another rung could gain.

    Args:
        best: The rung that is kept.
        reference: GCN's own.
        rungs: All of them.
        objective: What points are points of.
        graph: The graph in numbers.
    """
    over = None if reference.points is None else -reference.points
    gain = ""
    if over is not None and _is_seen(over, objective):
        gain = f" ({difference(over, objective)} than with GCN's own operator)"
    others = [rung for rung in rungs if rung.name != best.name and rung.points is not None]
    left = ""
    if others:
        next_best = max(others, key=lambda rung: rung.points or 0.0)
        most = next_best.points or 0.0
        if most > 0 and _is_seen(most, objective):
            surely = next_best.p is not None and next_best.p <= 0.025 and best.p is not None
            why = (
                "but a simpler one is as good within chance"
                if surely
                else "which is not significant"
            )
            more = difference(most, objective)
            left = f" The best alternative, {next_best.name}: {more}, {why}."
        else:
            left = " No other operator of this family scores better on these labels."
    if graph is not None and graph.num_edges == 0:
        return "The graph has no edges, labels follow the features: use no graph."
    homophily = None if graph is None else graph.adjusted_homophily
    differ = homophily is not None and homophily < 0 and best.hops > 1
    opposed = homophily is not None and homophily < OPPOSED
    return _what(best, gain, differ, opposed) + left


def _is_seen(merit: float, objective: Objective) -> bool:
    """Whether a difference is more than rounding hides."""
    return float(objective.written(abs(merit)).replace(",", "")) > 0


def _what(best: RungRecord, gain: str, neighbours_differ: bool, opposed: bool) -> str:
    terms = " + ".join(best.terms)
    if best.family == "features":
        return f"Labels follow the features: the graph adds nothing here{gain}; use no graph."
    if best.family == "own":
        name = best.terms[0].upper()
        why = "Neighbours differ, their neighbours are alike" if neighbours_differ else ALIKE
        return f"{why}: {name}'s own operator is right."
    if best.family == "presets":
        preset = best.terms[0]
        if preset in SUMS:
            reason = "Degrees matter: use sums instead of means"
        elif "laplacian" in preset:
            reason = "Differences to the neighbours matter, not their mean"
        else:  # none of these has a self-loop, which GCN's has
            who = "Neighbours are of other classes, and help" if opposed else "Neighbours help"
            reason = f"{who}, without the node itself and with other weights for hubs than GCN's"
        return f"{reason}{gain}; use the preset {preset}."
    if best.family == "directions":
        ways = {term.partition("@")[2] for term in best.terms} - {""}
        what = "give each its own weights" if len(ways) > 1 else "follow the edges one way"
        return f"Direction matters: {what}, {terms}{gain}."
    if best.family == "moments":
        return f"How alike neighbours are tells the graphs apart: {terms} with moments{gain}."
    if best.family == "relations":
        return f"Kinds of edges matter: give each its own weights, {terms}{gain}."
    if best.family == "learned":
        of_hops = " of every hop" if best.S_per_hop else ""
        return f"A learned S{of_hops} fits this graph better than any preset: {terms}{gain}."
    if "self" not in best.terms:  # the node itself turned out to be of no use
        return f"Each hop needs weights of its own: {', '.join(best.blocks)}{gain}."
    return f"A node and its neighbours need weights of their own: {terms}{gain}."


def difference(merit: float, objective: Objective) -> str:
    """A difference of scores in words; the merit is positive where it is better.

    Example:
        >>> from pgso.objectives import OBJECTIVES
        >>> difference(0.25, OBJECTIVES["accuracy"]), difference(0.25, OBJECTIVES["mae"])
        ('accuracy 25.0 points higher', 'MAE 0.250 lower')
    """
    higher = (merit >= 0) == objective.larger_is_better
    size = objective.written(abs(merit)) + (" points" if objective.in_percent else "")
    return f"{objective.label} {size} {'higher' if higher else 'lower'}"
