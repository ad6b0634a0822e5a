"""The module with a value per node, channel or head."""

import pytest
import torch

from pgso import PGSO, Graph, apply_pgso
from pgso.errors import InputError
from pgso.gso.parameters import NAMES

GRAPH = Graph.from_edge_index(torch.tensor([[0, 1, 1, 2, 0], [1, 0, 2, 1, 3]]), num_nodes=4)
X = torch.randn(4, 6, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("shape", ["scalar", ("node", 4), ("channel", 6), ("head", 3)])
def test_every_shape_starts_as_its_preset_and_learns(shape):
    gso = PGSO("laplacian", shape=shape)
    out = gso(X, GRAPH)
    torch.testing.assert_close(out, apply_pgso(X, GRAPH, "laplacian"))
    assert gso.parameters_tuple() == PGSO("laplacian").parameters_tuple()
    out.square().sum().backward()
    assert {name for name, p in gso.named_parameters() if p.grad.isfinite().all()} == set(NAMES)


def test_heads_are_neighbouring_channels():
    gso = PGSO("gcn", shape=("head", 2))
    with torch.no_grad():
        gso.m2[0, 1] = 3.0
    once = apply_pgso(X, GRAPH, "gcn")
    torch.testing.assert_close(gso(X, GRAPH), torch.cat([once[:, :3], 3 * once[:, 3:]], dim=1))
    with pytest.raises(InputError, match="4 heads cannot share 6 channels"):
        PGSO("gcn", shape=("head", 4))(X, GRAPH)


def test_the_matrix_of_an_operator_per_node_is_its_product():
    gso = PGSO("gcn", shape=("node", 4))
    with torch.no_grad():
        gso.a.copy_(torch.tensor([[1.0], [0.5], [0.0], [2.0]]))
        gso.m2.mul_(torch.tensor([[1.0], [-1.0], [0.5], [2.0]]))
    torch.testing.assert_close(gso.on(GRAPH).to_torch_sparse().to_dense() @ X, gso(X, GRAPH))


def test_an_operator_per_channel_is_no_single_matrix():
    with pytest.raises(InputError, match="one for each channel"):
        PGSO("gcn", shape=("channel", 6)).on(GRAPH).to_torch_sparse()


@pytest.mark.parametrize("shape", ["nodes", ("node", 0), ("edge", 3), ("node",), 7, ("node", 2.5)])
def test_what_is_no_shape_is_refused(shape):
    with pytest.raises(InputError, match=r"shape must be \"scalar\""):
        PGSO("gcn", shape=shape)


def test_a_subset_learns_per_node_and_reset_goes_back():
    gso = PGSO("gcn", learn=("a",), shape=("node", 4))
    assert [p.shape for p in gso.parameters()] == [(4, 1)]
    assert "shape=('node', 4), learn=a" in repr(gso)
    with torch.no_grad():
        gso.a.fill_(5.0)
    gso.reset_parameters()
    assert gso.parameters_tuple().a == 1.0
