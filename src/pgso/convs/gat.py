"""GAT-PGSO: attention modulates the edges of the operator (DESIGN decision 5)."""

from typing import Any, TypeGuard

import torch
from torch import Tensor, nn
from torch_geometric.nn.inits import glorot

from pgso.convs.attention import Scales, attend, attention, modulated
from pgso.convs.features import Features, Linear, as_features, check_dropout, dense_dropout
from pgso.convs.registry import CONVS, Conv
from pgso.errors import InputError
from pgso.graph import EdgeList, Graph
from pgso.gso.dense import factors
from pgso.gso.message_passing import graph_for
from pgso.gso.module import PGSO

IN_CACHE = 2**20  # entries of all heads that are quicker to handle at once


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
        out_channels: Features per node and head of the result.
        gso: The operator, which layers may share; by default a learned one of its own.
        heads: The number of heads.
        concat: Whether heads are concatenated, or averaged.
        negative_slope: Of the leaky ReLU on the attention logits.
        dropout: Of the attention coefficients.
        bias: Whether to add a bias.
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
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def forward(
        self,
        x: Features,  # (n, in_channels)
        edge_index: Graph | Tensor,
        edge_weight: Tensor | None = None,  # (E,)
    ) -> Tensor:  # (n, heads * out_channels), or (n, out_channels) if heads are averaged
        """Transform, attend, propagate each head with its own weights on the operator's edges."""
        hidden = self.lin(as_features(x))
        graph = graph_for(hidden, edge_index, edge_weight)
        heads = hidden.view(-1, self.heads, self.out_channels)
        target, source = self.scores(hidden)
        scales = self.scales(graph, hidden.dtype)
        if not self.explain and not self.drops and _pays_by_head(graph, heads):
            out = attend(heads, target, source, scales, graph, self.negative_slope)
        else:
            alpha = attention(target, source, graph, self.negative_slope)
            entries = dense_dropout(alpha, self.dropout, self.training) * _A_a(graph, scales.a)
            if self.explain:
                entries = self.masked(entries, graph, edge_index)
            out = modulated(heads, entries, scales, graph)
        out = out.flatten(1) if self.concat else out.mean(dim=1)
        return out if self.bias is None else out + self.bias

    @property
    def drops(self) -> bool:
        """Whether attention coefficients are dropped now."""
        return self.training and self.dropout > 0

    def scores(self, hidden: Tensor) -> tuple[Tensor, Tensor]:  # (n, H * C) -> (H, n), (H, n)
        """What each node contributes to the logits of its edges, as their target and source."""
        by_head = torch.cat([self.att_dst, self.att_src]).unsqueeze(2)  # (2, H, 1, C)
        weight = torch.cat([torch.block_diag(*part) for part in by_head])
        target, source = (weight @ hidden.t()).view(2, self.heads, -1).unbind()
        return target, source

    def scales(self, graph: Graph | EdgeList, dtype: torch.dtype) -> Scales:
        """The vectors around the attention, of S per node and head or of any shape within."""
        S = self.gso.S_on(graph)
        S = S.double() if dtype == torch.float64 else S.float()  # degrees need the digits
        S = S.view(-1, 1, 1) if S.dim() == 1 else S.transpose(1, 2)  # (7, H or 1, n or 1)
        if S.size(1) not in (1, self.heads):
            raise InputError(f"attention has {self.heads} heads, the operator {S.size(1)}")
        *_, a = values = S.unbind()
        left, right, own = factors(values, graph.degree.to(S.dtype) + a)
        size = (self.heads, graph.num_nodes)
        return Scales(*(part.to(dtype).expand(size) for part in (left, right, own, a)))


def _pays_by_head(graph: Graph | EdgeList, heads: Tensor) -> TypeGuard[Graph]:
    """Whether one head after another is possible (whole, constant edges), and worth its calls."""
    if torch.compiler.is_compiling() or heads.dtype not in (torch.float32, torch.float64):
        return False
    constant = graph.weight is None or not graph.weight.requires_grad
    whole = isinstance(graph, Graph) and graph.sample is None
    return whole and constant and graph.pattern.row.numel() * heads.size(1) > IN_CACHE


def _A_a(graph: Graph | EdgeList, a: Tensor) -> Tensor:  # (H, n) -> (nnz, H)
    """The entries of A + aI, with the a of each head."""
    pattern, A = graph.pattern, graph.weight
    if A is None:
        A = torch.ones_like(pattern.row, dtype=a.dtype)
    loops = 0 if graph.loops is None else graph.loops.to(a.dtype)
    A = A.to(a.dtype).unsqueeze(1).expand(-1, a.size(0))
    return A.index_copy(0, pattern.diagonal, (a + loops).t())
