"""Definition 2 and Table 1: S, known operators as choices of S, and where learning may start."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from pgso.errors import InputError
from pgso.registry import Registry

if TYPE_CHECKING:
    from torch import Tensor

    Scalar = float | Tensor
else:
    Scalar = Any

NAMES = ("m1", "m2", "m3", "e1", "e2", "e3", "a")
EXPONENTS = ("e1", "e2", "e3")


class PGSOParameters(NamedTuple):
    r"""The seven scalars :math:`\mathcal{S}` of Definition 2, in the order of Table 1.

    They are floats, or 0-d tensors when a gradient is wanted.
    """

    m1: Scalar
    m2: Scalar
    m3: Scalar
    e1: Scalar
    e2: Scalar
    e3: Scalar
    a: Scalar

    @classmethod
    def of(cls, values: "str | Sequence[Scalar] | Tensor") -> "PGSOParameters":
        """The S of a preset's name, or of seven finite numbers, which are checked and named."""
        if isinstance(values, str):
            return PRESETS[values]
        try:
            given = tuple(values)
        except TypeError:
            raise InputError(
                f"S takes seven numbers ({', '.join(NAMES)}) or a preset's name, got {values!r}"
            ) from None
        if len(given) != len(NAMES):
            raise InputError(f"S takes seven numbers ({', '.join(NAMES)}), got {len(given)}")
        for name, value in zip(NAMES, given, strict=True):
            try:
                number = as_float(value)
            except OverflowError:  # an integer beyond any float
                number = math.inf
            except (TypeError, ValueError, RuntimeError):
                raise InputError(f"{name} must be a single number, got {value!r}") from None
            if not math.isfinite(number):
                raise InputError(f"{name} must be finite, got {number}")
        return cls(*given)

    def as_floats(self) -> "PGSOParameters":
        """The same values as plain floats, cut off from any gradient."""
        return PGSOParameters(*(as_float(value) for value in self))


def as_float(value: Scalar) -> float:
    """A scalar as a plain float, cut off from any gradient."""
    if getattr(value, "ndim", 0):  # a tensor of shape (1,) would change the shape of γ x
        raise TypeError("not a scalar")
    return float(value.detach() if hasattr(value, "detach") else value)


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
