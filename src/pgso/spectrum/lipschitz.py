"""How much a stack of layers can amplify a change of its input."""

import math
from collections.abc import Mapping

import torch
from torch import nn
from torch_geometric.nn import Linear as PyGLinear

from pgso.errors import InputError
from pgso.graph import Graph
from pgso.gso.channels import ChannelShift
from pgso.gso.entries import OnPattern
from pgso.gso.module import PGSO
from pgso.spectrum.certified import OnGraph, Parameters, operator_of

LINEAR = (nn.Linear, PyGLinear)
BATCH_NORM = (nn.BatchNorm1d,)


@torch.no_grad()
def operator_norm_bound(graph: OnGraph, S: Parameters = None) -> float:
    r"""A bound on :math:`\|\gamma\|_2`, by :math:`\sqrt{\|\gamma\|_1 \|\gamma\|_\infty}`.

    Where e2 ≠ e3, γ is not symmetric and its norm may exceed its spectral radius. Two sparse
    products; holds for directed graphs too.

    Example:
        >>> star = Graph.from_edge_index(torch.tensor([[0, 0, 1, 2], [1, 2, 0, 0]]))
        >>> round(operator_norm_bound(star, "mean"), 3)  # √(1 · 2), where the radius is 1
        1.414
    """
    op = operator_of(graph, S)
    if not isinstance(op, OnPattern) or isinstance(op, ChannelShift):
        raise InputError(f"this takes one γ on a graph, not a {type(op).__name__} of such")
    sizes, pattern = op.entries(torch.float64).abs(), op.graph.pattern
    rows, columns = (sizes.new_zeros(count) for count in op.shape)
    rows, columns = rows.index_add(0, pattern.row, sizes), columns.index_add(0, pattern.col, sizes)
    return math.sqrt(float(rows.amax()) * float(columns.amax()))


@torch.no_grad()
def lipschitz_bound(model: nn.Module, graph: Graph, uses: Mapping[str, int]) -> float:
    """The product of the norms of all operators, linear maps and batch norms of a model.

    It bounds the amplification from input to output if the layers follow one another, without
    skip connections, and activations do not amplify (ReLU, tanh, dropout in evaluation).
    Infinite if the model has parameters it cannot vouch for, such as attention or layer norm, and
    if a module says that it adds or joins branches (``is_chain`` is False), such as a bank. A
    module that sums over n nodes (``sums_nodes``) amplifies by √n.

    Args:
        model: The network.
        graph: Which it runs on.
        uses: How often each operator, linear map and norm, by its name in the model, is applied in
            one pass; once if it does not say.
    """
    bound = 1.0
    for name, module in model.named_modules():
        if not getattr(module, "is_chain", True):
            return math.inf
        if getattr(module, "sums_nodes", False):
            bound *= math.sqrt(graph.num_nodes)
        if isinstance(module, PGSO) and module.kind != "scalar":
            return math.inf
        if isinstance(module, PGSO):
            bound *= operator_norm_bound(module.on(graph)) ** uses.get(name, 1)
        elif isinstance(module, LINEAR):
            bound *= float(torch.linalg.matrix_norm(module.weight.double(), 2)) ** uses.get(name, 1)
        elif isinstance(module, BATCH_NORM) and module.running_var is not None:
            scale = (module.running_var + module.eps).rsqrt()
            scale = scale if module.weight is None else scale * module.weight
            bound *= float(scale.abs().amax()) ** uses.get(name, 1)
        elif any(parameter != "bias" for parameter, _ in module.named_parameters(recurse=False)):
            return math.inf
    return bound
