"""``stack``: networks of one architecture become one network of replicas."""

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch_geometric.nn import JumpingKnowledge

from pgso.convs.bank import BankConv
from pgso.convs.gcn import GCNConv
from pgso.convs.gin import MLP, GINConv
from pgso.convs.sgc import SGConv
from pgso.convs.sparse_features import (
    GLOBAL,
    Draws,
    Features,
    Linear,
    SparseFeatures,
    as_features,
    dense_dropout,
)
from pgso.graph import Graph, Relations
from pgso.graph.pattern import side_by_side
from pgso.graph.reach import Reach
from pgso.gso.module import PGSO
from pgso.gso.operator import ShiftOperator
from pgso.gso.replicas import ReplicaShift
from pgso.models.gnn import GNN, Layer
from pgso.models.stacked.layers import (
    StackedBatchNorm,
    StackedGCN,
    StackedLayerNorm,
    StackedLinear,
)

# Modules whose ``forward`` serves replicas as it is.
CONTAINERS = (GNN, Layer, GCNConv, SGConv, GINConv, BankConv, MLP, nn.ModuleList)


def can_stack(model: nn.Module) -> bool:
    """Whether every part of a network has a form for replicas."""
    return all(_is_known(module) for module in model.modules())


def _is_known(module: nn.Module) -> bool:
    if isinstance(module, PGSO):
        return module.kind == "scalar" and not module.explain
    if isinstance(module, JumpingKnowledge):
        return module.mode in ("cat", "max")
    kinds = (*CONTAINERS, Linear, nn.BatchNorm1d, nn.LayerNorm)
    return isinstance(module, kinds) and not (isinstance(module, GNN) and module.encoder)


def hops_of(model: GNN) -> int | None:
    """How many products lie between features and outputs, each in a layer of its own.

    None where a layer needs more nodes than its outputs and their neighbours (batch norm), or
    mixes its input and output (residual maps, jumping knowledge).
    """
    layers: list[Any] = list(model.layers)
    plain = all(
        isinstance(layer.conv, GCNConv) and layer.residual is None and layer.norm is None
        for layer in layers
    )
    return len(layers) if plain and model.jump is None and model.head is None else None


class Views(NamedTuple):
    """A tensor of the stacked network, and the parts of it that the replicas hold."""

    stacked: Tensor  # (R, ...)
    parts: list[Tensor]
    turned: bool  # whether a part is transposed in the stacked tensor

    def part(self, whole: Tensor, replica: int) -> Tensor:
        """A replica's part of a tensor like the stacked one, in the form it has in the replica."""
        part = whole[replica]
        return part.t() if self.turned else part.view(self.parts[replica].shape)

    def join(self) -> None:
        """Let the parts share the memory of the stacked tensor."""
        for replica, part in enumerate(self.parts):
            part.data = self.part(self.stacked.data, replica)

    def hand_out_gradients(self) -> None:
        """Give every replica its part of the stacked gradient."""
        whole = self.stacked.grad
        for replica, part in enumerate(self.parts):
            part.grad = None if whole is None else self.part(whole, replica)
        self.stacked.grad = None


def stack(models: Sequence[GNN], draws: Draws, data: "StackedData") -> tuple[GNN, list[Views]]:
    """One network of all replicas. From now on the given models share its memory.

    A step of the stacked network's weights is a step of the models' weights: a model can be
    scored, saved and asked for its S at any time.

    Args:
        models: Networks of one architecture, which may have different weights and S.
        draws: Where the draws of each replica's dropout come from.
        data: What the network will be applied to.
    """
    first = models[0]
    assert can_stack(first)
    stacked = copy.deepcopy(first)
    stacked.draws = draws
    sparse = isinstance(data.x, SparseFeatures)
    modules = [list(model.modules()) for model in models]
    made = {
        old: _stacked(
            old, [list_[place] for list_ in modules], sparse and _reads_features(first, one)
        )
        for place, (old, one) in enumerate(zip(list(stacked.modules()), modules[0], strict=True))
    }
    for new in made.values():
        if isinstance(new, GCNConv):
            new.__class__ = StackedGCN
        if isinstance(new, StackedGCN | StackedLinear):
            new.reach = data.reach
    for parent in list(made):
        for name, child in list(parent._modules.items()):
            if child is not None and made[child] is not child:
                parent._modules[name] = made[child]
    views = [
        view
        for place, new in enumerate(made.values())
        for view in _views(new, [list_[place] for list_ in modules])
    ]
    for view in views:
        view.join()
    return stacked, views


def _reads_features(model: GNN, module: nn.Module) -> bool:
    """Whether a linear map is applied to the network's input."""
    layer: Any = model.layers[0]
    conv = layer.conv
    maps = [layer.residual, *getattr(conv, "lins", [getattr(conv, "lin", None)])]
    if isinstance(conv, GINConv):
        maps.append(conv.nn.first)
    return any(module is one for one in maps)


def _stacked(old: nn.Module, parts: list[Any], sparse: bool) -> nn.Module:
    """The module of all replicas; containers keep their class, with stacked parameters."""
    if isinstance(old, Linear):
        bias = None if old.bias is None else torch.stack([part.bias.detach() for part in parts])
        return StackedLinear(torch.stack([part.weight.detach() for part in parts]), bias, sparse)
    if isinstance(old, nn.BatchNorm1d):
        return StackedBatchNorm(parts)
    if isinstance(old, nn.LayerNorm):
        return StackedLayerNorm(parts)
    for name, parameter in old._parameters.items():
        if parameter is not None:
            values = torch.stack([getattr(part, name).detach() for part in parts])
            # A bias (R, 1, F) is added to features (R, n, F).
            old._parameters[name] = nn.Parameter(
                values if values.dim() < 2 else values.unsqueeze(1)
            )
    for name, buffer in old._buffers.items():
        if buffer is not None:
            old._buffers[name] = torch.stack([getattr(part, name) for part in parts])
    return old


def _views(stacked: nn.Module, parts: list[nn.Module]) -> Iterator[Views]:
    """The tensors of one module."""
    sparse = isinstance(stacked, StackedLinear) and stacked.sparse
    for name, value in [*stacked._parameters.items(), *stacked._buffers.items()]:
        if value is not None:
            tensors = [getattr(part, name) for part in parts]
            yield Views(value, tensors, sparse and name == "weight")


class StackedData:
    """The graph and the features of every replica, as a stacked network takes them.

    It stands where a graph stands: :meth:`operator_of` makes the operators of all replicas.
    """

    def __init__(
        self, graph: Graph | Relations, x: Sequence[Tensor], reach: Reach | None = None
    ) -> None:
        self.graph, self.count, self.reach = graph, len(x), reach
        self._copies: dict[Graph, Graph] = {}
        self.x: Features  # of all nodes
        self.reached: Features  # of those that the loss can see
        if x[0].layout != torch.strided:
            features = as_features(x[0])
            assert isinstance(features, SparseFeatures)
            self.x = self.reached = features.copies(self.count)
            if reach is not None:
                self.reached = ReachedFeatures.of_rows(features, reach.nodes[0], self.count)
            return
        self.x = torch.stack(tuple(x))
        if all(one is x[0] for one in x):
            self.x = x[0].expand(self.count, *x[0].shape)
        self.reached = self.x if reach is None else self.x.index_select(1, reach.nodes[0])

    def operator_of(self, gso: PGSO) -> ShiftOperator:
        """γ of every replica."""
        graph = gso.graph_of(self.graph)
        if graph not in self._copies:
            self._copies[graph] = graph.copies(self.count)
        columns = None
        if gso.degrees == "both" and not graph.is_undirected:
            columns = graph.column_sums
        return ReplicaShift(graph, self._copies[graph], gso.S, columns, not gso.learned, self.reach)


class ReplicaDraws(Draws):
    """A generator for each replica; rows that a loss cannot see are drawn, and not looked at."""

    def __init__(self, generators: Sequence[torch.Generator], reach: Reach | None) -> None:
        super().__init__(generators)
        self.reach = reach

    def rows_of(self, x: Tensor) -> tuple[Tensor, int] | None:
        """The nodes of a layer."""
        if self.reach is None or x.dim() != 3:
            return None
        nodes = self.reach.nodes_of(x.size(1))
        return None if nodes is None else (nodes, self.reach.graph.num_nodes)


@dataclass(frozen=True, eq=False)
class ReachedFeatures(SparseFeatures):
    """Sparse features of some nodes. Dropout draws for those of all nodes."""

    whole: Tensor  # (R nnz,) the values of all nodes
    chosen: Tensor  # where these features' values stand among them

    @classmethod
    def of_rows(cls, x: SparseFeatures, nodes: Tensor, copies: int) -> "ReachedFeatures":
        """The features of ascending nodes."""
        assert x.rows.rowptr is not None
        lengths = x.rows.rowptr.diff()
        present = torch.zeros(x.shape[0], dtype=torch.bool)
        present[nodes] = True
        chosen = present.repeat_interleave(lengths).nonzero().flatten()
        start = torch.zeros(nodes.numel() + 1, dtype=torch.int64)
        start[1:] = lengths[nodes].cumsum(0)
        rows = torch.sparse_csr_tensor(
            start, x.rows.col[chosen].long(), x.values[chosen], (nodes.numel(), x.shape[1]),
            check_invariants=False,
        )  # fmt: skip
        some = SparseFeatures.of(rows).copies(copies)
        return cls(
            some.rows,
            some.columns,
            some.order,
            some.values,
            some.shape,
            x.values.repeat(copies),
            side_by_side(chosen, x.values.numel(), copies),
        )

    def dropout(self, p: float, training: bool, draws: Draws = GLOBAL) -> SparseFeatures:
        """Dropout of the stored values of all nodes, of which these are some."""
        if not training or p == 0:
            return self
        whole = dense_dropout(self.whole, p, training, draws)
        return replace(self, values=whole.index_select(0, self.chosen))
