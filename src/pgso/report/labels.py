"""How operators and numbers are written, the same in every table, figure and page."""

LABELS = {"fixed": "fixed", "pgso": "PGSO", "mpgso": "mPGSO", "auto": "auto"}


def signed(value: float, digits: int = 1) -> str:
    """A difference with its sign; 0 has none of its own.

    Example:
        >>> signed(16.23), signed(-0.01), signed(-2.5)
        ('+16.2', '+0.0', '-2.5')
    """
    return f"{_without_minus_zero(value, digits):+.{digits}f}"


def plain(value: float, digits: int = 1) -> str:
    """A number with so many digits, never "-0.0"."""
    return f"{_without_minus_zero(value, digits):.{digits}f}"


def _without_minus_zero(value: float, digits: int) -> float:
    return round(value, digits) + 0.0
