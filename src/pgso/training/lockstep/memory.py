"""How much memory a replica takes."""

import torch

from pgso.data import Task
from pgso.records import RunSpec

NUMBER = 4  # bytes of a float or of an index
ARRAYS_PER_LAYER = (
    10  # of n x width: what a layer keeps for its gradients, and gradients on their way
)
ARRAYS_OF_FEATURES = 3  # the stacked ones, their dropout, and what is drawn for it
PER_NON_ZERO = 10  # numbers: indices both ways, values, and values after dropout both ways
PER_EDGE = 14  # numbers: indices both ways, entries both ways, and their gradients' tables
PER_WEIGHT = 6  # numbers: a weight, its gradient, two moments, the best one, and one on its way


def replica_bytes(spec: RunSpec, task: Task) -> int:
    """An upper estimate of what one more replica adds to a group, in bytes."""
    n, width, hidden = task.num_nodes, task.num_features, spec.hidden_channels
    maps = len(spec.terms or "xx") if spec.conv == "bank" else 2 if spec.conv == "gin" else 1
    layers = spec.num_layers + (spec.conv == "gin")
    numbers = ARRAYS_PER_LAYER * n * max(hidden, task.num_outputs) * layers * maps
    if task.x.layout == torch.strided:
        numbers += ARRAYS_OF_FEATURES * n * width * maps
    else:
        numbers += PER_NON_ZERO * task.x.values().numel()
    operators = len(spec.terms or "xx") if spec.conv == "bank" else 1
    if spec.operator == "mpgso":
        operators *= spec.num_layers
    numbers += PER_EDGE * task.graph.pattern.col.numel() * operators
    weights = (width + hidden * spec.num_layers * maps + task.num_outputs) * hidden * maps
    return NUMBER * (numbers + PER_WEIGHT * weights * (2 if spec.residual else 1))
