"""The architecture's own operator: γx, γ²x and γ³x with GCN's γ."""

from collections.abc import Iterator

from pgso.finding.blocks import Word
from pgso.finding.propagation import Letter
from pgso.finding.rungs.rung import FAMILIES, Family, Rung, Search

GCN = "gcn, 2 hops"  # what a GCN of two layers sees: the reference


def own(search: Search) -> Iterator[Rung]:
    """GCN's operator, as often as a network of one, two or three layers applies it."""
    gcn = Letter.of("gcn")
    for hops in (1, 2, 3):
        name = f"gcn, {hops} hop{'s' if hops > 1 else ''}"
        yield Rung(name, "own", (Word((gcn,) * hops),), complexity=1)


FAMILIES.register("own")(Family(1, own))
