"""GIN-PGSO (docs/conventions.md): Equation (2) in full, then the perceptron."""

import torch
from torch import nn

from pgso import PGSO, GINConv, dense_pgso

EDGES = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
A = torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
X = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))
S = (0.2, 0.9, 0.8, 0.3, -0.2, -0.1, 0.7)  # a > 0: the self term that the printed rule leaves out


def test_the_perceptron_follows_the_operator():
    layer = GINConv(4, 6, PGSO(S)).eval()
    torch.testing.assert_close(layer(X, EDGES), layer.nn(dense_pgso(A, S) @ X))


def test_any_module_may_be_the_perceptron():
    layer = GINConv(4, 2, PGSO(S), nn=nn.Linear(4, 2))
    torch.testing.assert_close(layer(X, EDGES), layer.nn(dense_pgso(A, S) @ X))
    sparse = (X * (X > 0)).to_sparse_csr()
    torch.testing.assert_close(layer(sparse, EDGES), layer.nn(dense_pgso(A, S) @ (X * (X > 0))))


def test_a_reset_reaches_the_layers_of_any_perceptron():
    conv = GINConv(4, 3, nn=nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)))
    before = conv.nn[0].weight.clone()
    conv.reset_parameters()
    assert not torch.equal(conv.nn[0].weight, before)
