"""Second moments of graph tasks: how alike neighbours are, summed over each graph."""

from collections.abc import Iterator

from pgso.finding.blocks import Word
from pgso.finding.propagation import Letter
from pgso.finding.rungs.rung import FAMILIES, Family, Rung, Search

NORMALISATIONS = ("gcn", "mean", "adjacency", "quarter")


def moments(search: Search) -> Iterator[Rung]:
    """[x, γx, x ∘ x, x ∘ γx], and of the best one also γ²x and x ∘ γ²x."""
    if search.problem.kind != "graph":
        return
    for name in NORMALISATIONS:
        yield Rung(_name(name, 1), "moments", _words(name, 1), complexity=4)
    best = min(NORMALISATIONS, key=lambda name: search.loss(_name(name, 1)))
    yield Rung(_name(best, 2), "moments", _words(best, 2), complexity=5)


def _words(name: str, hops: int) -> tuple[Word, ...]:
    powers = [(Letter.of(name),) * k for k in range(hops + 1)]
    return tuple(Word(letters, squared) for squared in (False, True) for letters in powers)


def _name(preset: str, hops: int) -> str:
    return f"self + {preset} + moments, {hops} hop{'s' if hops > 1 else ''}"


FAMILIES.register("moments")(Family(4, moments))
