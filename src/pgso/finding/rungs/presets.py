"""Another operator in GCN's place: every preset, once and twice."""

from collections.abc import Iterator

from pgso.finding.blocks import Word
from pgso.finding.propagation import Letter
from pgso.finding.rungs.own import architectures
from pgso.finding.rungs.rung import FAMILIES, Family, Rung, Search
from pgso.gso.presets import PRESETS

# gat is gin, zeros is nothing; Laplacians are differences, which are of use once.
ONCE = tuple(name for name in PRESETS if name not in ("gcn", "gat", "zeros"))
TWICE = tuple(name for name in ONCE if "laplacian" not in name)


def presets(search: Search) -> Iterator[Rung]:
    """γx and γ²x for every other preset, without a block for the node itself."""
    for name in ONCE:
        if name in architectures(search.problem.kind):
            continue
        letter = Letter.of(name)
        yield Rung(f"{name}, 1 hop", "presets", (Word((letter,)),), complexity=2)
        if name in TWICE:
            yield Rung(f"{name}, 2 hops", "presets", (Word((letter, letter)),), complexity=2)


FAMILIES.register("presets")(Family(2, presets))
