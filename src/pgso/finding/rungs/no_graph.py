"""No graph: the features alone."""

from collections.abc import Iterator

from pgso.finding.blocks import Word
from pgso.finding.rungs.rung import FAMILIES, Family, Rung, Search

NO_GRAPH = "no graph"


def features(search: Search) -> Iterator[Rung]:
    """X: where every ladder begins."""
    yield Rung(NO_GRAPH, "features", (Word(),), complexity=0)


FAMILIES.register("features")(Family(0, features))
