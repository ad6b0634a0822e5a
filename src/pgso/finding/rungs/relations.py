"""Kinds of edges, each with weights of its own."""

from collections.abc import Iterator

from pgso.finding.blocks import Word
from pgso.finding.propagation import Letter
from pgso.finding.rungs.rung import FAMILIES, Family, Rung, Search

NORMALISATIONS = ("gcn", "mean", "adjacency", "quarter")
MOST = 8  # relations that get a block, those with the most edges: a block costs as much as a rung


def relations(search: Search) -> Iterator[Rung]:
    """[x, γ_r x of every relation r], and of the best one also γ_r² x."""
    names = _names(search)
    if len(names) < 2:
        return
    for preset in NORMALISATIONS:
        yield Rung(_name(preset, 1), "relations", _words(preset, names, 1), complexity=4)
    best = min(NORMALISATIONS, key=lambda preset: search.loss(_name(preset, 1)))
    if search.loss(_name(best, 1)) < 0.99 * search.loss("no graph"):
        yield Rung(_name(best, 2), "relations", _words(best, names, 2), complexity=6)


def _names(search: Search) -> list[str]:
    kinds = search.problem.relations
    if kinds is None or search.problem.kind != "node":
        return []
    by_size = sorted(kinds.graphs, key=lambda name: -kinds.graphs[name].num_edges)
    return by_size[:MOST]


def _words(preset: str, names: list[str], hops: int) -> tuple[Word, ...]:
    letters = [Letter.of(preset, name) for name in names]
    powers = (Word((letter,) * k) for k in range(1, hops + 1) for letter in letters)
    return (Word(), *powers)


def _name(preset: str, hops: int) -> str:
    return f"self + {preset} per relation, {hops} hop{'s' if hops > 1 else ''}"


FAMILIES.register("relations")(Family(6, relations))
