"""How much memory a replica takes."""

from itertools import pairwise

import torch

from pgso.data import Task
from pgso.records import RunSpec
from pgso.training.lockstep.sharing import most_nodes

NUMBER = 4  # bytes of a float or of an index
PER_OUTPUT = 10  # numbers: what a layer keeps of each output, and gradients on their way
PER_FEATURE = 3  # numbers: the stacked ones, their dropout, and what is drawn for it
PER_NON_ZERO = 12  # numbers: indices both ways, values, and values after dropout both ways
PER_ENTRY = 10  # numbers: indices both ways, entries both ways
PER_OPERATOR = 4  # numbers: the entries of each further operator, both ways
PER_SCORED = 3  # numbers: what an evaluation holds of a layer under way; of others, its output
PER_WEIGHT = 6  # numbers: a weight, its gradient, two moments, the best one, and one on its way


def replica_bytes(spec: RunSpec, task: Task) -> int:
    """An upper estimate of what one more replica adds to a group, in bytes."""
    n, hidden = task.num_nodes, spec.hidden_channels
    entries = task.graph.pattern.col.numel()
    if task.kind == "graph":  # what it trains on is a batch; large ones of all at once are rare
        typical = task.num_nodes * spec.batch_size // task.num_graphs
        n = min(most_nodes(spec, task), 2 * typical)
        entries = entries * n // task.num_nodes
    widths = [task.num_features, *[hidden] * (spec.num_layers - 1), task.num_outputs]
    maps, operators = 1, 1
    if spec.conv == "bank":
        maps = operators = len(spec.terms or ("self", "gcn"))
    if spec.conv == "gin":  # two linear maps in each layer, and one behind the last
        widths, maps = [*widths[:-1], hidden, task.num_outputs], 2
    maps += spec.residual
    if spec.operator == "mpgso":
        operators *= spec.num_layers
    numbers = PER_OUTPUT * n * sum(widths[1:]) * maps
    numbers += PER_WEIGHT * maps * sum(a * b for a, b in pairwise(widths))
    if task.x.layout == torch.strided:
        numbers += PER_FEATURE * n * task.num_features
    else:
        numbers += PER_NON_ZERO * task.x.values().numel()
    numbers += (PER_ENTRY + PER_OPERATOR * operators) * entries
    if task.kind == "graph":  # what it scores is all graphs, which stay in memory
        outputs = (PER_SCORED + spec.num_layers) * hidden
        numbers += (outputs + task.num_features) * task.num_nodes
        numbers += (PER_ENTRY + PER_OPERATOR * operators) * task.graph.pattern.col.numel()
    return NUMBER * numbers
