"""GAT-PGSO (docs/conventions.md) against its formula, written out."""

import pytest
import torch
from hypothesis import given

from pgso import GNN, PGSO, GATConv
from pgso.errors import InputError
from pgso.gso.formula import positive_power
from tests.strategies import edge_lists, parameters


def attention(layer, A, x, S):
    """γ_att of every head, dense: m1 D^e1 + m2 D^e2 (α ∘ A_a) D^e3 + m3 I."""
    m1, m2, m3, e1, e2, e3, a = S
    n, identity = A.size(0), torch.eye(A.size(0), dtype=A.dtype)
    A_a = A + a * identity
    d_a = A_a.sum(dim=1)
    heads = layer.lin(x).view(n, layer.heads, -1)
    outputs = []
    for head in range(layer.heads):
        h = heads[:, head]
        logits = (h @ layer.att_dst[0, head]).unsqueeze(1) + h @ layer.att_src[0, head]
        logits = torch.nn.functional.leaky_relu(logits, layer.negative_slope)
        near = (A != 0) | identity.bool()
        alpha = logits.masked_fill(~near, -torch.inf).softmax(dim=1)
        D1, D2, D3 = (positive_power(d_a, e).diag() for e in (e1, e2, e3))
        outputs.append((m1 * D1 + m2 * D2 @ (alpha * A_a) @ D3 + m3 * identity) @ h)
    return torch.cat(outputs, dim=1) + layer.bias


@given(edges=edge_lists(weights="positive"), S=parameters())
def test_attention_modulates_the_edges_of_the_operator(edges, S):
    layer = GATConv(3, 2, PGSO(S), heads=2).double()
    for name, value in zip(layer.gso.start._fields, S, strict=True):
        getattr(layer.gso, name).data.fill_(value)
    x = torch.randn(edges.num_nodes, 3, dtype=torch.float64)
    torch.testing.assert_close(
        layer(x, edges.edge_index, edges.edge_weight),
        attention(layer, edges.adjacency, x, S),
        atol=1e-6,
        rtol=1e-6,
    )


def test_attention_dropout_acts_in_training_only():
    layer, x = GATConv(3, 2, dropout=0.5), torch.randn(4, 3)
    edges = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]])
    assert not torch.equal(layer(x, edges), layer(x, edges))
    layer.eval()
    assert torch.equal(layer(x, edges), layer(x, edges))


def test_heads_share_the_hidden_width_and_are_averaged_at_the_end():
    model = GNN("gat", 3, 8, 5, heads=4)
    first, last = (layer.conv for layer in model.layers)
    assert (first.heads, first.out_channels, first.concat) == (4, 2, True)
    assert (last.heads, last.out_channels, last.concat) == (4, 5, False)


def test_bad_heads_are_refused_in_words():
    with pytest.raises(InputError, match="heads must be at least 1"):
        GATConv(3, 2, heads=0)
    with pytest.raises(InputError, match="3 heads cannot share 8 hidden channels"):
        GNN("gat", 3, 8, 5, heads=3)


def test_in_sixteen_bits_degrees_are_computed_in_thirty_two():
    leaves = torch.arange(1, 70_000)
    hub = torch.zeros_like(leaves)
    edges = torch.stack([torch.cat([hub, leaves]), torch.cat([leaves, hub])])
    conv = GATConv(2, 2).half()
    conv(torch.randn(70_000, 2).half(), edges).float().sum().backward()
    assert all(getattr(conv.gso, name).grad.isfinite() for name in ("m1", "e1"))


def test_a_graph_without_nodes_has_a_backward_pass():
    conv = GATConv(3, 2)
    conv(torch.randn(0, 3), torch.empty(2, 0, dtype=torch.long)).sum().backward()
    assert conv.lin.weight.grad is not None


def test_an_operator_per_channel_is_not_for_attention():
    with pytest.raises(InputError, match="per head"):
        GATConv(4, 2, PGSO("gcn", shape=("channel", 2)), heads=2)
