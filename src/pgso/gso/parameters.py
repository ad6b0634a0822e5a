"""Definition 2: the parameter tuple S of the parametrised graph shift operator."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from pgso.errors import InputError

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
    def of(cls, values: "Sequence[Scalar] | Tensor") -> "PGSOParameters":
        """Check that there are seven finite numbers and name them."""
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
