"""Banks: the node itself and every hop of its surroundings with weights of their own."""

from collections.abc import Iterator

from pgso.finding.blocks import Word
from pgso.finding.propagation import Letter
from pgso.finding.rungs.rung import FAMILIES, Family, Rung, Search

NORMALISATIONS = ("gcn", "mean", "adjacency", "quarter", "three_quarters", "transition")
GOES_ON = 3  # of the banks of one hop, this many are tried with two


def banks(search: Search) -> Iterator[Rung]:
    """[x, γx], of the best three [x, γx, γ²x], and of the best one [x, ..., γ³x]."""
    tried = list(NORMALISATIONS)
    for hops in (1, 2, 3):
        for name in tried:
            letter = Letter.of(name)
            words = tuple(Word((letter,) * k) for k in range(hops + 1))
            yield Rung(_name(name, hops), "banks", words, complexity=2 + hops)
        tried.sort(key=lambda name: search.loss(_name(name, hops)))
        tried = tried[: GOES_ON if hops == 1 else 1]


def _name(preset: str, hops: int) -> str:
    return f"self + {preset}, {hops} hop{'s' if hops > 1 else ''}"


FAMILIES.register("banks")(Family(3, banks))
