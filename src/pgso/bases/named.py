"""The bases that a run may ask for by name."""

from collections.abc import Callable
from functools import partial

from pgso.bases.diffusion import diffusion
from pgso.bases.non_backtracking import two_steps
from pgso.bases.undirected import undirected
from pgso.graph import Graph
from pgso.registry import Registry

NEIGHBOURS = 64  # of a node, as many as Gasteiger et al. keep

BASES: Registry[Callable[[Graph], Graph]] = Registry(
    "base",
    {
        "ppr": partial(diffusion, kind="ppr", top_k=NEIGHBOURS),
        "heat": partial(diffusion, kind="heat", top_k=NEIGHBOURS),
        "non-backtracking": two_steps,
        "undirected": undirected,
    },
)
