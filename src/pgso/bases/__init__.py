"""End of Section 3.2: γ on other matrices than A, each turned into a graph of its own."""

from pgso.bases.diffusion import diffusion
from pgso.bases.named import BASES, undirected
from pgso.bases.non_backtracking import NonBacktracking, ihara_bass, non_backtracking, two_steps

__all__ = [
    "BASES",
    "NonBacktracking",
    "diffusion",
    "ihara_bass",
    "non_backtracking",
    "two_steps",
    "undirected",
]
