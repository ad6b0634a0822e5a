"""The architecture's own operator: γx, γ²x and γ³x with GCN's γ, and GIN's for graph tasks."""

from collections.abc import Iterator

from pgso.finding.blocks import Word
from pgso.finding.propagation import Letter
from pgso.finding.rungs.rung import FAMILIES, Family, Rung, Search

GCN, GIN = "gcn, 2 hops", "gin, 2 hops"  # what a network of two layers sees: the references


def own(search: Search) -> Iterator[Rung]:
    """γx, γ²x and γ³x, as networks of one, two and three layers propagate."""
    for preset in architectures(search.problem.kind):
        for hops in (1, 2, 3):
            name = f"{preset}, {hops} hop{'s' if hops > 1 else ''}"
            yield Rung(name, "own", (Word((Letter.of(preset),) * hops),), complexity=1)


def architectures(kind: str) -> tuple[str, ...]:
    """The presets to try: GCN's, and for graph tasks GIN's too."""
    return ("gcn", "gin") if kind == "graph" else ("gcn",)


FAMILIES.register("own")(Family(1, own))
