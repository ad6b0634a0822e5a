"""R networks of one architecture as one: weights (R, out, in), features (R, n, F)."""

from pgso.models.stacked.data import ReplicaDraws, StackedData
from pgso.models.stacked.stack import Views, can_stack, hops_of, stack

__all__ = ["ReplicaDraws", "StackedData", "Views", "can_stack", "hops_of", "stack"]
