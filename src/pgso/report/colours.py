"""Colours and dashes that colour-blind readers can tell apart (Okabe and Ito 2008)."""

# Multipliers are solid, exponents dashed, a is dotted: pairs of one colour differ by their dash.
OPERATORS = {
    "fixed": "#6b7280",
    "pgso": "#0072b2",
    "mpgso": "#d55e00",
    "found": "#cc79a7",
    "auto": "#009e73",
}
PARAMETERS = {
    "m1": ("#0072b2", "solid"),
    "m2": ("#d55e00", "solid"),
    "m3": ("#009e73", "solid"),
    "e1": ("#0072b2", "dashed"),
    "e2": ("#d55e00", "dashed"),
    "e3": ("#009e73", "dashed"),
    "a": ("#cc79a7", "dotted"),
}
