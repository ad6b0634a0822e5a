"""Bounds on amplification: of one operator, and of a stack of layers."""

import math

import networkx
import pytest
import torch
from hypothesis import given
from torch import nn

from pgso import GNN, PGSO, Graph, dense_pgso, shift
from pgso.errors import InputError
from pgso.spectrum import SpectralMonitor, operator_norm_bound
from pgso.spectrum.monitor import lipschitz_bound
from tests.strategies import edge_lists, parameters

GRAPH = Graph.from_networkx(networkx.barabasi_albert_graph(20, 2, seed=0))


@given(edges=edge_lists(), S=parameters())
def test_it_bounds_the_norm_of_the_operator_on_any_graph(edges, S):
    norm = torch.linalg.matrix_norm(dense_pgso(edges.adjacency, S), 2)
    assert norm <= operator_norm_bound(edges.graph, S) * (1 + 1e-9) + 1e-9


class Layer(nn.Module):
    def __init__(self, gso, inside, outside):
        super().__init__()
        self.gso, self.linear = gso, nn.Linear(inside, outside)

    def forward(self, x):
        return self.gso(self.linear(x), GRAPH).relu()


def test_no_pair_of_inputs_is_pulled_apart_further_than_the_bound_of_the_stack():
    torch.manual_seed(0)
    model = nn.Sequential(Layer(PGSO("mean"), 3, 8), nn.BatchNorm1d(8), Layer(PGSO("gcn"), 8, 2))
    model.train()(torch.randn(20, 3))
    model.eval()
    bound = lipschitz_bound(model, GRAPH, {"0.gso": 1, "2.gso": 1})
    x = torch.randn(20, 3, requires_grad=True)
    jacobian = torch.autograd.functional.jacobian(model, x).reshape(40, 60)
    assert torch.linalg.matrix_norm(jacobian, 2) <= bound


def test_an_operator_used_twice_counts_twice():
    gso = PGSO((0, 3, 0, 0, 0, 0, 1))
    once, twice = (lipschitz_bound(gso, GRAPH, {"": count}) for count in (1, 2))
    assert twice == pytest.approx(once**2)


def test_parameters_of_an_unknown_kind_make_it_infinite():
    model = nn.Sequential(PGSO("gcn"), nn.LayerNorm(3))
    assert lipschitz_bound(model, GRAPH, {}) == math.inf


def test_a_linear_map_that_is_used_twice_counts_twice():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear, self.gso = nn.Linear(1, 1, bias=False), PGSO("gcn")
            nn.init.constant_(self.linear.weight, 4.0)

        def forward(self, x, graph):
            return self.gso(self.linear(self.linear(x)), graph)

    model, monitor = Twice(), SpectralMonitor()
    path = Graph.from_edge_index(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    with monitor.watch(model):
        model(torch.ones(3, 1), path)
        seen = monitor.observe(model, path)
    assert seen.lipschitz >= 16


def test_an_operator_per_channel_is_refused_in_words():
    op = PGSO("gcn", shape=("channel", 2)).on(torch.tensor([[0, 1], [1, 0]]))
    with pytest.raises(InputError, match="2 matrices, one for each channel"):
        operator_norm_bound(op)


def test_the_norm_of_an_expression_is_bounded():
    op = shift(GRAPH, "mean")
    expression = op @ op - 0.5 * op
    norm = float(torch.linalg.matrix_norm(expression.to_dense(), 2))
    assert norm <= operator_norm_bound(expression) < 3 * norm


@pytest.mark.parametrize("options", [{"residual": True}, {"jk": "cat"}, {"conv": "bank"}], ids=str)
def test_branches_that_are_added_or_joined_have_no_product_of_norms(options):
    options = {"conv": "gcn"} | options
    assert math.isfinite(lipschitz_bound(GNN("gcn", 3, 4, 2), GRAPH, {}))
    model = GNN(in_channels=3, hidden_channels=4, out_channels=2, **options)
    assert lipschitz_bound(model, GRAPH, {}) == math.inf


@pytest.mark.parametrize("pooling", ["sum", "mean", "max"])
def test_pooling_is_part_of_the_bound(pooling):
    torch.manual_seed(0)
    options = {"num_layers": 1, "task": "graph", "pooling": pooling, "dropout": 0}
    model = GNN("gcn", 3, 4, 2, **options).eval()
    x = torch.randn(3).expand(GRAPH.num_nodes, 3).contiguous()  # all nodes alike: sums add up
    slope = torch.autograd.functional.jacobian(lambda x: model(x, GRAPH), x).reshape(2, -1)
    assert torch.linalg.matrix_norm(slope, 2) <= lipschitz_bound(model, GRAPH, {})
