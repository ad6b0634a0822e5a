"""Words and colours: how operators and numbers are written in every table, figure and page."""

from pgso.records import RunSpec

LABELS = {"fixed": "fixed", "pgso": "PGSO", "mpgso": "mPGSO", "found": "found", "auto": "auto"}


# Colour-blind readers can tell these apart (Okabe and Ito 2008).
OPERATORS = {
    "fixed": "#6b7280",
    "pgso": "#0072b2",
    "mpgso": "#d55e00",
    "found": "#cc79a7",
    "auto": "#009e73",
}
# Multipliers are solid, exponents dashed, a is dotted: pairs of one colour differ by their dash.
PARAMETERS = {
    "m1": ("#0072b2", "solid"),
    "m2": ("#d55e00", "solid"),
    "m3": ("#009e73", "solid"),
    "e1": ("#0072b2", "dashed"),
    "e2": ("#d55e00", "dashed"),
    "e3": ("#009e73", "dashed"),
    "a": ("#cc79a7", "dotted"),
}
DASHES = {"dashed": "7 4", "dotted": "2 3"}  # of lines in SVG


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
