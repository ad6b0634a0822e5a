"""GAT-PGSO: the factor form of ``gso.node_shift`` with attended values (docs/conventions.md)."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import leaky_relu
from torch_geometric.nn.inits import glorot

from pgso.convs.architecture import CONVS, Conv, OnGraph, shifts_on
from pgso.convs.sparse_features import Features, Linear, as_features, check_dropout, dropout
from pgso.errors import InputError
from pgso.graph import Graph, weighted_product
from pgso.graph.degrees import on_edges, softmax_over_edges
from pgso.graph.inputs import check_features
from pgso.gso.module import PGSO
from pgso.gso.node_shift import OnPattern


@CONVS.register("gat")
class GATConv(Conv):
    r"""Graph attention with a learnable shift operator, head by head.

    .. math::
        \gamma_{att} = m_1 D_a^{e_1} + m_2 D_a^{e_2} (\alpha \circ A_a) D_a^{e_3} + m_3 I_n

    :math:`\alpha_{ij}` is GAT's softmax over :math:`\mathcal{N}(v_i) \cup \{v_i\}`. With the
    preset ``"gat"`` and ``learn=False`` this is PyG's ``GATConv`` (on a graph without self-loops
    of its own, which stay in A here and are replaced there).

    Args:
        in_channels: Features per node, or -1 to find out on first use.
        out_channels: Of the result, per head.
        gso: The operator, which layers may share; by default a learned one of its own.
        heads: The number of heads.
        concat: Whether heads are concatenated, or averaged.
        negative_slope: Of the leaky ReLU on the attention logits.
        dropout: Of the attention coefficients.
    """

    preset = "gat"
    attends = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        gso: PGSO | str | None = None,
        heads: int = 1,
        concat: bool = True,
        negative_slope: float = 0.2,
        dropout: float = 0.0,
        bias: bool = True,
    ) -> None:
        super().__init__(in_channels, out_channels, gso)
        if heads < 1:
            raise InputError(f"heads must be at least 1, got {heads}")
        if self.gso.kind == "channel":
            raise InputError('attention takes an operator per head, shape=("head", H), not channel')
        check_dropout("dropout", dropout)
        self.heads, self.concat = heads, concat
        self.negative_slope, self.dropout = negative_slope, dropout
        self.lin = Linear(
            in_channels, heads * out_channels, bias=False, weight_initializer="glorot"
        )
        self.att_src = nn.Parameter(torch.empty(1, heads, out_channels))
        self.att_dst = nn.Parameter(torch.empty(1, heads, out_channels))
        width = heads * out_channels if concat else out_channels
        self.bias = nn.Parameter(torch.empty(width)) if bias else None
        self.reset_parameters()

    @classmethod
    def layer(
        cls,
        in_channels: int,
        out_channels: int,
        gso: Any,
        to_output: bool,
        heads: int = 1,
        attention_dropout: float = 0.0,
        **options: Any,
    ) -> "GATConv":
        """Heads share the width of a hidden layer, and are averaged in the output layer."""
        options["dropout"] = attention_dropout
        if to_output:
            return cls(in_channels, out_channels, gso, heads=heads, concat=False, **options)
        if heads < 1:
            raise InputError(f"heads must be 1 or more, got {heads}")
        if out_channels % heads:
            raise InputError(
                f"{heads} heads cannot share {out_channels} hidden channels: "
                f"choose a multiple of {heads}"
            )
        return cls(in_channels, out_channels // heads, gso, heads=heads, **options)

    def reset_parameters(self) -> None:
        """Draw new weights; the operator goes back to where it started."""
        super().reset_parameters()
        glorot(self.att_src)
        glorot(self.att_dst)

    def forward(
        self,
        x: Features,  # (n, in_channels)
        edge_index: OnGraph,
        edge_weight: Tensor | None = None,  # (E,)
    ) -> Tensor:  # (n, heads * out_channels), or (n, out_channels) if heads are averaged
        """Transform, attend, propagate each head with its own weights on the operator's edges."""
        x = as_features(x)
        if isinstance(x, Tensor) and x.dim() != 2:
            raise InputError(f"attention takes features of shape (n, F), got {tuple(x.shape)}")
        if self.explain:  # the mask belongs on the attended edges, once
            operator: Any = self.gso.on(edge_index, edge_weight, False, x.size(-2))  # type: ignore[arg-type]
        else:
            (operator,) = shifts_on(
                self.operators, x, edge_index, edge_weight, self.explain is not False
            )
        hidden = self.lin(x)
        check_features(hidden, operator.shape[1], operator.device)
        if not isinstance(operator, OnPattern):
            raise InputError(f"attention needs γ itself, not a {type(operator).__name__}")
        graph, vectors, parts = operator.graph, operator.factors(hidden.dtype), []
        for part in (vectors.outer, vectors.right, vectors.alpha, vectors.a):
            if part.dim() == 2 and part.size(1) not in (1, self.heads):
                raise InputError(f"attention has {self.heads} heads, the operator {part.size(1)}")
            column = part if part.dim() == 2 else part.view(-1, 1)  # S is one, or one per node
            parts.append(column.to(hidden.dtype).expand(operator.shape[0], self.heads))
        left, right, own, a = (*(part.unsqueeze(2) for part in parts[:3]), parts[3])
        alpha = attention(*self.scores(hidden), graph, self.negative_slope)
        alpha = dropout(alpha, self.dropout, self.training)
        if self.explain:
            alpha = self.masked(alpha, graph, edge_index)
        A = graph.entries.to(a.dtype).unsqueeze(1).expand(-1, self.heads)
        entries = alpha * A.index_add(0, graph.pattern.diagonal, a)
        by_head = hidden.view(-1, self.heads, self.out_channels)
        by_node = own * by_head + left * weighted_product(graph, entries, right * by_head)
        out: Tensor = by_node.flatten(1) if self.concat else by_node.mean(dim=1)
        return out if self.bias is None else out + self.bias

    def scores(self, hidden: Tensor) -> tuple[Tensor, Tensor]:  # (n, H * C) -> (n, H), (n, H)
        """What each node contributes to the logits of its edges, as their target and source."""
        by_head = torch.cat([self.att_dst, self.att_src]).transpose(1, 2)  # (2, C, H)
        blocks = torch.diag_embed(by_head, dim1=1, dim2=2)  # a block diagonal for each
        target, source = (blocks.flatten(2).flatten(0, 1) @ hidden.t()).view(2, self.heads, -1)
        return target.t(), source.t()


def attention(target: Tensor, source: Tensor, graph: Graph, slope: float) -> Tensor:  # (nnz, H)
    """α of every entry and head, from t and s, (n, H)."""
    row, col = graph.pattern.row, graph.pattern.col
    logits = leaky_relu(on_edges(target, row) + on_edges(source, col), slope)
    if graph.pattern.rowptr is not None:
        return softmax_over_edges(graph, logits)
    # Edges are not merged there, but α is a softmax over nodes: each counts once.
    pair = row * graph.num_nodes + col
    ordered = pair.sort().values
    first, after = (torch.searchsorted(ordered, pair, right=right) for right in (False, True))
    copies = (after - first).to(logits.dtype).unsqueeze(1)
    return copies * softmax_over_edges(graph, logits - copies.log())
