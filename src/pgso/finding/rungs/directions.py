"""Both directions of a directed graph, with weights of their own."""

from collections.abc import Iterator
from itertools import product

from pgso.finding.blocks import Word
from pgso.finding.propagation import Letter
from pgso.finding.rungs.rung import FAMILIES, Family, Rung, Search

NORMALISATIONS = ("gcn", "mean", "adjacency", "quarter")


def directions(search: Search) -> Iterator[Rung]:
    """[x, γ_in x, γ_out x], and of the best two also the products of two such operators."""
    if search.problem.graph.is_undirected:
        return
    for name in NORMALISATIONS:
        yield Rung(_name(name, 1), "directions", _words(name, 1), complexity=4)
    best = sorted(NORMALISATIONS, key=lambda name: search.loss(_name(name, 1)))[:2]
    for name in best:
        # Deeper only where a direction helped at all: seven blocks take their time.
        if search.loss(_name(name, 1)) < 0.99 * search.loss("no graph"):
            yield Rung(_name(name, 2), "directions", _words(name, 2), complexity=6)


def _words(name: str, hops: int) -> tuple[Word, ...]:
    ways = Letter.of(name, "in"), Letter.of(name, "out")
    return tuple(Word(letters) for k in range(hops + 1) for letters in product(ways, repeat=k))


def _name(preset: str, hops: int) -> str:
    return f"self + {preset} in + out, {hops} hop{'s' if hops > 1 else ''}"


FAMILIES.register("directions")(Family(5, directions))
