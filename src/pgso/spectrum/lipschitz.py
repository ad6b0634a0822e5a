"""How much a stack of layers can amplify a change of its input."""

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn
from torch_geometric.nn import Linear as PyGLinear

from pgso.graph import Graph, weighted_product
from pgso.gso.dense import factors
from pgso.gso.module import PGSO
from pgso.gso.parameters import Scalar
from pgso.gso.presets import resolve

LINEAR = (nn.Linear, PyGLinear)
BATCH_NORM = (nn.BatchNorm1d,)


@torch.no_grad()
def operator_norm_bound(graph: Graph, S: str | Sequence[Scalar] | Tensor) -> float:
    r"""A bound on :math:`\|\gamma\|_2`, by :math:`\sqrt{\|\gamma\|_1 \|\gamma\|_\infty}`.

    Where e2 ≠ e3, γ is not symmetric and its norm may exceed its spectral radius. Two sparse
    products; holds for directed graphs too.

    Example:
        >>> star = Graph.from_edge_index(torch.tensor([[0, 0, 1, 2], [1, 2, 0, 0]]))
        >>> round(operator_norm_bound(star, "mean"), 3)  # √(1 · 2), where the radius is 1
        1.414
    """
    *_, a = values = resolve(S).as_floats()
    d_a = graph.degree.detach().double() + a
    loops = a if graph.loops is None else graph.loops.detach().double() + a
    left, right, own = factors(values, d_a)
    own, left = (own + left * right * loops).abs(), left.abs()
    sizes = graph.entries.detach().double().abs().index_fill(0, graph.pattern.diagonal, 0)
    by_row = weighted_product(graph, sizes, right.unsqueeze(1)).squeeze(1)
    by_column = torch.zeros_like(d_a).index_add(
        0, graph.pattern.col, sizes * left.index_select(0, graph.pattern.row)
    )
    rows, columns = own + left * by_row, own + right * by_column
    return math.sqrt(float(rows.amax()) * float(columns.amax()))


@torch.no_grad()
def lipschitz_bound(model: nn.Module, graph: Graph, uses: Mapping[str, int]) -> float:
    """The product of the norms of all operators, linear maps and batch norms of a model.

    It bounds the amplification from input to output if the layers follow one another, without
    skip connections, and activations do not amplify (ReLU, tanh, dropout in evaluation).
    Infinite if the model has parameters it cannot vouch for, such as attention or layer norm.

    Args:
        model: The network.
        graph: Which it runs on.
        uses: How often each operator, linear map and norm, by its name in the model, is applied in
            one pass; once if it does not say.
    """
    bound = 1.0
    for name, module in model.named_modules():
        if isinstance(module, PGSO) and module.kind != "scalar":
            return math.inf
        if isinstance(module, PGSO):
            bound *= operator_norm_bound(graph, module.parameters_tuple()) ** uses.get(name, 1)
        elif isinstance(module, LINEAR):
            bound *= float(torch.linalg.matrix_norm(module.weight.double(), 2)) ** uses.get(name, 1)
        elif isinstance(module, BATCH_NORM) and module.running_var is not None:
            scale = (module.running_var + module.eps).rsqrt()
            scale = scale if module.weight is None else scale * module.weight
            bound *= float(scale.abs().amax()) ** uses.get(name, 1)
        elif any(own != "bias" for own, _ in module.named_parameters(recurse=False)):
            return math.inf
    return bound
