"""Section 3.3, "Computational cost": S as vectors, one value per node, channel or head."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from pgso.errors import InputError
from pgso.gso.dense import factors
from pgso.gso.parameters import NAMES, Scalar

Shape = str | tuple[str, int]

SIZED = ("node", "channel", "head")
UNSIZED = ("scalar", "structural")


def parse_shape(shape: Shape) -> tuple[str, tuple[int, ...]]:  # kind, shape of each parameter
    """What a shape is called, and how its parameters broadcast against features (n, F).

    Example:
        >>> parse_shape("scalar"), parse_shape(("node", 5)), parse_shape(("channel", 3))
        (('scalar', ()), ('node', (5, 1)), ('channel', (1, 3)))
    """
    if isinstance(shape, str) and shape in UNSIZED:
        return shape, ()
    match shape:
        case (kind, int(size)) if kind in SIZED and size >= 1:
            return str(kind), (size, 1) if kind == "node" else (1, size)
    raise InputError(
        f'shape must be "scalar", "structural", ("node", n), ("channel", F) or ("head", H), '
        f"got {shape!r}"
    )


def is_vector(S: "str | Sequence[Scalar] | Tensor") -> bool:
    """Whether S is a tensor with a value per node or channel, rather than seven scalars."""
    return isinstance(S, Tensor) and S.dim() == 3


def check_vector(S: Tensor, num_nodes: int, width: int) -> None:
    """Refuse S unless S[k] broadcasts against features (n, F) along one of the two."""
    if tuple(S.shape) not in ((len(NAMES), num_nodes, 1), (len(NAMES), 1, width)):
        raise InputError(
            f"S must have shape (7,), (7, {num_nodes}, 1) for a value per node or "
            f"(7, 1, {width}) for a value per channel of these features, got {tuple(S.shape)}"
        )
    if not torch.compiler.is_compiling() and not bool(S.detach().isfinite().all()):
        raise InputError("S must be finite, got a value that is not")


def spread_heads(S: Tensor, width: int) -> Tensor:  # (7, 1, H) -> (7, 1, F)
    """The S of each channel, where H heads have F / H neighbouring channels each."""
    heads = S.size(-1)
    if width % heads:
        raise InputError(f"{heads} heads cannot share {width} channels: choose a multiple")
    return S.repeat_interleave(width // heads, dim=-1)


def scales(
    S: Tensor,  # (7, n, 1) or (7, 1, F)
    degree: Tensor,  # (n, 1)
) -> tuple[Any, Any, Any]:  # each (n, 1) or (n, F)
    r"""The factors around A of γ x = own ∘ x + left ∘ A (right ∘ x).

    .. math::
        left = m_2 \circ D_a^{e_2}, \quad right = D_a^{e_3}, \quad
        own = m_1 \circ D_a^{e_1} + m_3 + a \circ left \circ right
    """
    *_, a = values = S.unbind()
    left, right, own = factors(values, degree.to(S.dtype) + a)
    return left, right, own + a * left * right
