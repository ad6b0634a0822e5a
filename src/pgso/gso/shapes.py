"""Section 3.3, "Computational cost": S as vectors, one value per node, channel or head."""

from pgso.errors import InputError

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
