"""How operators and numbers are written, the same in every table, figure and page."""

from pgso.records import RunSpec

LABELS = {"fixed": "fixed", "pgso": "PGSO", "mpgso": "mPGSO", "found": "found", "auto": "auto"}


def places(spec: RunSpec, count: int) -> list[str]:
    """Where each of a model's operators stands: its layer, and in a bank its term.

    Example:
        >>> places(RunSpec(dataset="Cora"), 2)
        ['layer 1', 'layer 2']
        >>> places(RunSpec(dataset="Cora", terms=("self", "gcn@in", "gcn@out")), 2)
        ['gcn@in', 'gcn@out']
    """
    terms = [term for term in spec.terms or () if term != "self"]
    if len(terms) < 2 or count % len(terms):
        return [""] if count == 1 else [f"layer {k + 1}" for k in range(count)]
    if count == len(terms):
        return terms
    return [f"layer {k // len(terms) + 1}, {terms[k % len(terms)]}" for k in range(count)]


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
