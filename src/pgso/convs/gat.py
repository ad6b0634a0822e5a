"""GAT-PGSO: attention modulates the edges of the operator (DESIGN decision 5)."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.nn.inits import glorot

from pgso.convs.features import Features, Linear, as_features, dense_dropout
from pgso.convs.registry import CONVS, Conv
from pgso.errors import InputError
from pgso.graph import EdgeList, Graph, weighted_product
from pgso.graph.edges import softmax_over_edges, source_values, target_values
from pgso.gso.dense import positive_power
from pgso.gso.message_passing import graph_for, pgso_entries
from pgso.gso.module import PGSO


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
        alpha = self.attention(heads, graph)

        S = self.by_head(self.gso.S_on(graph).to(hidden.dtype))
        m1, _, m3, e1, *_, a = S.unbind()
        edges_only = S * S.new_tensor([0, 1, 0, 1, 1, 1, 1]).view(-1, 1, 1)
        parts = [pgso_entries(graph, part.squeeze(1)) for part in edges_only.unbind(2)]
        entries = alpha * torch.stack(parts, dim=1)  # m2 D^e2 (α ∘ A_a) D^e3
        if self.explain:
            entries = self.masked(entries, graph, edge_index)
        out = weighted_product(graph, entries, heads)
        own = m1 * positive_power(graph.degree.to(S.dtype).unsqueeze(1) + a, e1) + m3
        out = torch.addcmul(out, own.unsqueeze(2), heads)
        out = out.flatten(1) if self.concat else out.mean(dim=1)
        return out if self.bias is None else out + self.bias

    def by_head(self, S: Tensor) -> Tensor:  # (7, 1, 1), (7, n, 1) or (7, 1, H)
        """S so that S[k] broadcasts against values per node and head."""
        S = S.view(-1, 1, 1) if S.dim() == 1 else S
        if S.size(2) not in (1, self.heads):
            raise InputError(f"attention has {self.heads} heads, the operator {S.size(2)}")
        return S

    def attention(self, heads: Tensor, graph: Graph | EdgeList) -> Tensor:  # (n, H, C) -> (nnz, H)
        """α_ij of every edge and head."""
        source = (heads * self.att_src).sum(dim=-1)
        target = (heads * self.att_dst).sum(dim=-1)
        logits = target_values(graph, target) + source_values(graph, source)
        logits = functional.leaky_relu(logits, self.negative_slope)
        if isinstance(graph, Graph):
            alpha = softmax_over_edges(graph, logits)
        else:  # edges are not merged there, but α is a softmax over nodes: each counts once
            copies = _copies(graph).unsqueeze(1)
            alpha = copies * softmax_over_edges(graph, logits - copies.log())
        return dense_dropout(alpha, self.dropout, self.training)


def _copies(edges: EdgeList) -> Tensor:  # (E + n,)
    """How often each entry's pair of nodes occurs among the entries."""
    pair = edges.pattern.row * edges.num_nodes + edges.pattern.col
    ordered = pair.sort().values
    first, after = (torch.searchsorted(ordered, pair, right=right) for right in (False, True))
    return (after - first).to(edges.degree.dtype)
