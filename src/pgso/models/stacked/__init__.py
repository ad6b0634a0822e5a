"""R networks of one architecture as one: weights (R, out, in), features (R, n, F)."""

from pgso.models.stacked.stack import StackedData, can_stack, stack

__all__ = ["StackedData", "can_stack", "stack"]
