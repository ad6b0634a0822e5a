"""R networks of one architecture as one: weights (R, out, in), features (R, n, F) or (N, F)."""

from pgso.models.stacked.batch import StackedBatch
from pgso.models.stacked.data import ReplicaDraws, StackedData
from pgso.models.stacked.layout import Layout, RaggedDraws
from pgso.models.stacked.stack import Views, can_stack, hops_of, stack

__all__ = [
    "Layout",
    "RaggedDraws",
    "ReplicaDraws",
    "StackedBatch",
    "StackedData",
    "Views",
    "can_stack",
    "hops_of",
    "stack",
]
