"""SGC-PGSO (docs/conventions.md): K hops, one operator for all or one for each."""

import pytest
import torch

from pgso import GNN, PGSO, SGConv, dense_pgso
from pgso.errors import InputError

EDGES = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
A = torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
X = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))


def test_hops_are_applied_in_order():
    layer = SGConv(4, 2, [PGSO("gcn"), PGSO("laplacian")])
    wanted = layer.lin(dense_pgso(A, "laplacian") @ dense_pgso(A, "gcn") @ X)
    torch.testing.assert_close(layer(X, EDGES), wanted)


def test_a_shared_operator_is_a_power():
    layer = SGConv(4, 2, "gcn", K=3)
    wanted = layer.lin(torch.linalg.matrix_power(dense_pgso(A, "gcn"), 3) @ X)
    torch.testing.assert_close(layer(X, EDGES), wanted)
    assert sum(isinstance(module, PGSO) for module in layer.modules()) == 1


def test_layers_of_a_network_are_its_hops():
    model = GNN("sgc", 4, 8, 2, num_layers=3, operator="mpgso")
    (layer,) = model.layers
    assert layer.conv.K == 3
    assert len(model.operators) == 3


def test_bad_hops_are_refused_in_words():
    with pytest.raises(InputError, match="at least 1"):
        SGConv(4, 2, K=0)
    with pytest.raises(InputError, match="one for each of K=3 hops"):
        SGConv(4, 2, [PGSO(), PGSO()], K=3)
