"""``stack``: networks of one architecture become one network of replicas."""

import copy
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch_geometric.nn import JumpingKnowledge

from pgso.convs.bank import BankConv
from pgso.convs.gcn import GCNConv
from pgso.convs.gin import MLP, GINConv
from pgso.convs.sgc import SGConv
from pgso.convs.sparse_features import Draws, Linear, SparseFeatures
from pgso.gso.module import PGSO
from pgso.models.gnn import GNN, Layer
from pgso.models.stacked.data import StackedData
from pgso.models.stacked.layers import StackedGCN, StackedLayer, StackedLinear
from pgso.models.stacked.layout import Layout
from pgso.models.stacked.norms import StackedBatchNorm, StackedLayerNorm
from pgso.models.stacked.products import rounds_alike

# Modules whose ``forward`` serves replicas as it is: they hold what is stacked.
CONTAINERS = (GNN, Layer, GCNConv, SGConv, GINConv, BankConv, MLP, nn.ModuleList)


def can_stack(model: nn.Module) -> bool:
    """Whether every part of a network has a form for replicas."""
    return all(_is_known(module) for module in model.modules())


def _is_known(module: nn.Module) -> bool:
    if isinstance(module, PGSO):
        return module.kind == "scalar" and not module.explain
    if isinstance(module, JumpingKnowledge):
        return module.mode in ("cat", "max")
    if isinstance(module, GNN) and module.encoder is not None:
        return False
    return isinstance(module, (*CONTAINERS, Linear, nn.BatchNorm1d, nn.LayerNorm))


def hops_of(model: GNN, sparse: bool) -> int | None:
    """How many products lie between features and outputs, each in a layer of its own.

    None where a layer needs more nodes than its outputs and their neighbours (batch norm), mixes
    its input and output (residual maps, jumping knowledge), or has a linear map of dense features
    with other digits for fewer rows.
    """
    layers: list[Any] = list(model.layers)
    plain = all(
        isinstance(layer.conv, GCNConv) and layer.residual is None and layer.norm is None
        for layer in layers
    )
    if not plain or model.jump is not None or model.head is not None:
        return None
    maps = [layer.conv.lin for layer in layers[sparse:]]
    alike = all(rounds_alike(one.in_channels, one.out_channels) for one in maps)
    return len(layers) if alike else None


class Views(NamedTuple):
    """A tensor of the stacked network, and the parts of it that the replicas hold."""

    stacked: Tensor  # (R, ...)
    parts: list[Tensor]
    turned: bool  # whether a part is transposed in the stacked tensor

    def join(self) -> None:
        """Let the parts share the memory of the stacked tensor."""
        for whole, part in zip(self.stacked.data, self.parts, strict=True):
            part.data = whole.t() if self.turned else whole.view(part.shape)

    def part(self) -> None:
        """Give every part memory of its own again, with the values that it has now."""
        for part in self.parts:
            part.data = part.data.clone(memory_format=torch.contiguous_format)


def stack(
    models: Sequence[GNN],
    draws: Draws,
    data: StackedData | None = None,
    layout: Layout | None = None,
) -> tuple[GNN, list[Views]]:
    """One network of all replicas. From now on the given models share its memory.

    A step of the stacked network's weights is a step of the models' weights: a model can be
    scored, saved and asked for its S at any time.

    Args:
        models: Networks of one architecture, which may have different weights and S.
        draws: Where the draws of each replica's dropout come from.
        data: What the network will be applied to, if that is one graph.
        layout: Which rows belong to which replica, if it will be batches of graphs.
    """
    assert can_stack(models[0])
    stacked = copy.deepcopy(models[0])
    stacked.draws = draws
    by_module = list(zip(*(model.modules() for model in models), strict=True))
    layout, reach, sparse = layout or Layout(), None, set()
    if data is not None:
        reach = data.reach
        if isinstance(data.x, SparseFeatures):
            sparse = _maps_of_features(models[0])
    made: dict[nn.Module, nn.Module] = {}  # by the copy of the first replica's module
    for old, parts in zip(list(stacked.modules()), by_module, strict=True):
        made[old] = _stacked(old, list(parts), parts[0] in sparse, layout)
    for old, new in made.items():
        if isinstance(new, StackedGCN | StackedLinear):
            new.reach, new.layout = reach, layout
        for name, child in old._modules.items():
            if child is not None:
                old._modules[name] = made[child]
    views = [
        view
        for new, parts in zip(made.values(), by_module, strict=True)
        for view in _views(new, parts)
    ]
    for view in views:
        view.join()
    return stacked, views


def _maps_of_features(model: GNN) -> set[Any]:
    """The linear maps that are applied to the network's input."""
    layer: Any = model.layers[0]
    conv = layer.conv
    if isinstance(conv, GINConv):
        maps = [conv.nn.first]
    else:
        maps = list(conv.lins) if isinstance(conv, BankConv) else [conv.lin]
    return {*maps, layer.residual}


def _stacked(old: nn.Module, parts: list[Any], sparse: bool, layout: Layout) -> nn.Module:
    """The module of all replicas; containers keep their class, with stacked tensors."""
    if isinstance(old, Linear):
        bias = None if old.bias is None else torch.stack([part.bias.detach() for part in parts])
        return StackedLinear(torch.stack([part.weight.detach() for part in parts]), bias, sparse)
    if isinstance(old, nn.BatchNorm1d):
        return StackedBatchNorm(parts, layout)
    if isinstance(old, nn.LayerNorm):
        return StackedLayerNorm(parts, layout)
    for name, parameter in old._parameters.items():
        if parameter is not None:
            values = torch.stack([getattr(part, name).detach() for part in parts])
            if values.dim() > 1:  # a bias, which is added to features (R, n, F)
                values = values.unsqueeze(1)
            old._parameters[name] = nn.Parameter(values)
    for name, buffer in old._buffers.items():
        if buffer is not None:
            old._buffers[name] = torch.stack([getattr(part, name) for part in parts])
    old.__class__ = {GCNConv: StackedGCN, Layer: StackedLayer}.get(type(old), type(old))
    return old


def _views(stacked: nn.Module, parts: Sequence[nn.Module]) -> Iterator[Views]:
    """The tensors of one module."""
    sparse = isinstance(stacked, StackedLinear) and stacked.sparse
    for name, value in [*stacked._parameters.items(), *stacked._buffers.items()]:
        if value is not None:
            tensors = [getattr(part, name) for part in parts]
            yield Views(value, tensors, sparse and name == "weight")
