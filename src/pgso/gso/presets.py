"""Table 1: known graph shift operators as choices of S, and where learning may start."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pgso.gso.parameters import PGSOParameters, Scalar
from pgso.registry import Registry

if TYPE_CHECKING:
    from torch import Tensor

# fmt: off
PRESETS: Registry[PGSOParameters] = Registry("preset", {
    #                                       m1  m2  m3  e1    e2    e3  a
    "adjacency":             PGSOParameters(0,  1,  0,  0,  0,    0,    0),  # A
    "laplacian":             PGSOParameters(1, -1,  0,  1,  0,    0,    0),  # L = D - A
    "signless_laplacian":    PGSOParameters(1,  1,  0,  1,  0,    0,    0),  # Q = D + A
    "random_walk_laplacian": PGSOParameters(0, -1,  1,  0, -1,    0,    0),  # I - D^-1 A
    "symmetric_laplacian":   PGSOParameters(0, -1,  1,  0, -0.5, -0.5,  0),  # I - D^-1/2 A D^-1/2
    "gcn":                   PGSOParameters(0,  1,  0,  0, -0.5, -0.5,  1),  # D_1^-1/2 A_1 D_1^-1/2
    "mean":                  PGSOParameters(0,  1,  0,  0, -1,    0,    0),  # D^-1 A
    # Not in Table 1:
    "gin":                   PGSOParameters(0,  1,  1,  0,  0,    0,    0),  # A + I
    "quarter":               PGSOParameters(0,  1,  0,  0, -0.25, -0.25, 0),  # D^-1/4 A D^-1/4
    "three_quarters":        PGSOParameters(0,  1,  0,  0, -0.75, -0.25, 0),  # D^-3/4 A D^-1/4
    "transition":            PGSOParameters(0,  1,  0,  0,  0,   -1,    0),  # A D^-1
    "gat":                   PGSOParameters(0,  1,  0,  0,  0,    0,    1),  # A_1, for attention
    "zeros":                 PGSOParameters(0,  0,  0,  0,  0,    0,    0),  # naive start of 5.2
})
# fmt: on

TABLE_1 = tuple(PRESETS)[:7]


def resolve(S: "str | Sequence[Scalar] | Tensor") -> PGSOParameters:
    """S as seven checked scalars, from a preset's name or from its values."""
    return PRESETS[S] if isinstance(S, str) else PGSOParameters.of(S)
