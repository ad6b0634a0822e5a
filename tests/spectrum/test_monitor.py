"""The monitor: what it reads, what it costs, when it warns."""

import networkx
import pytest
import torch
from torch import nn

from pgso import PGSO, Graph
from pgso.convs.sgc import SGConv
from pgso.errors import InputError
from pgso.spectrum import SpectralMonitor, SpectralWarning, gershgorin_interval
from pgso.spectrum.monitor import OperatorReading

GRAPH = Graph.from_networkx(networkx.barabasi_albert_graph(20, 2, seed=0))


class Layer(nn.Module):
    def __init__(self, gso, hops=1):
        super().__init__()
        self.gso, self.hops = gso, hops

    def forward(self, x):
        for _ in range(self.hops):
            x = self.gso(x, GRAPH)
        return x


def test_it_reads_the_interval_of_every_operator_by_name():
    model = nn.Sequential(Layer(PGSO("gcn")), Layer(PGSO("laplacian")))
    seen = SpectralMonitor().observe(model, GRAPH)
    low, high = gershgorin_interval(GRAPH, "laplacian")
    assert list(seen.operators) == ["0.gso", "1.gso"]
    assert seen.operators["1.gso"] == OperatorReading(float(low), float(high))
    assert seen.operators["1.gso"].radius == float(high)
    assert seen.operators["1.gso"].centre == float(low + high) / 2


def test_a_shared_operator_is_read_once_and_counts_for_every_layer():
    gso = PGSO((0, 3, 0, 0, 0, 0, 1))
    model = nn.Sequential(Layer(gso), Layer(gso))
    seen = SpectralMonitor().observe(model, GRAPH)
    single = SpectralMonitor().observe(gso, GRAPH)
    assert len(seen.operators) == 1
    assert seen.lipschitz == pytest.approx(single.lipschitz**2)


def test_the_hops_of_one_of_our_layers_count_without_watching():
    conv = SGConv(4, 4, PGSO((0, 3, 0, 0, 0, 0, 1)), K=3, bias=False)
    conv.lin.weight.data.copy_(torch.eye(4))
    single = SpectralMonitor().observe(conv.gso, GRAPH).lipschitz
    assert SpectralMonitor().observe(conv, GRAPH).lipschitz == pytest.approx(single**3)


def test_a_watched_model_tells_how_often_its_operators_are_used():
    gso = PGSO((0, 3, 0, 0, 0, 0, 1))
    model, monitor = Layer(gso, hops=3), SpectralMonitor()
    with monitor.watch(model):
        model(torch.randn(20, 4))
        model(torch.randn(20, 4))  # another pass starts the count anew
        seen = monitor.observe(model, GRAPH)
    assert seen.lipschitz == pytest.approx(SpectralMonitor().observe(gso, GRAPH).lipschitz ** 3)


def test_a_watched_stack_of_averages_is_seen_to_over_smooth():
    model = nn.Sequential(*(Layer(PGSO("mean", learn=False)) for _ in range(12)))
    monitor = SpectralMonitor()
    with monitor.watch(model):
        model(torch.randn(20, 4))
        layers = list(monitor.observe(model, GRAPH).layers.values())
    assert len(layers) == 12
    assert layers[-1].mean_average_distance < 0.01 < layers[0].mean_average_distance
    assert layers[-1].dirichlet_energy < layers[0].dirichlet_energy


def test_nothing_is_left_on_the_model_after_watching():
    model, monitor = nn.Sequential(Layer(PGSO("gcn"))), SpectralMonitor()
    with monitor.watch(model):
        model(torch.randn(20, 4))
    model(torch.randn(20, 4))
    assert monitor.observe(model, GRAPH).layers == {}


def test_it_warns_once_when_the_radius_explodes():
    gso, monitor = PGSO("gcn"), SpectralMonitor()
    monitor.observe(gso, GRAPH)
    with torch.no_grad():
        gso.m2.fill_(50.0)
    with pytest.warns(SpectralWarning, match="lower the learning rate of S"):
        monitor.observe(gso, GRAPH)
    monitor.observe(gso, GRAPH)  # warnings are errors here: a second one would fail
    assert [seen.step for seen in monitor.history] == [0, 1, 2]


def test_it_writes_tensorboard_scalars():
    class Writer:
        def __init__(self):
            self.scalars = {}

        def add_scalar(self, tag, scalar_value, global_step):
            self.scalars[tag, global_step] = scalar_value

    writer = Writer()
    model = nn.Sequential(Layer(PGSO("gcn")))
    SpectralMonitor(writer).observe(model, GRAPH, step=7)
    assert writer.scalars["spectrum/0.gso/radius", 7] == pytest.approx(1)
    assert ("spectrum/lipschitz", 7) in writer.scalars


def test_observing_leaves_no_gradient_and_no_change():
    gso = PGSO("gcn")
    before = gso.parameters_tuple()
    SpectralMonitor().observe(gso, GRAPH)
    assert gso.parameters_tuple() == before
    assert gso.m2.grad is None


def test_a_directed_graph_is_refused_with_an_edge():
    with pytest.raises(InputError, match="the edge 0 → 1 has no reverse"):
        SpectralMonitor().observe(PGSO("gcn"), torch.tensor([[0], [1]]))


def test_layers_that_are_called_one_by_one_are_counted_by_the_pass():
    layers = nn.ModuleList([Layer(PGSO((0, 3, 0, 0, 0, 0, 1))) for _ in range(2)])
    monitor = SpectralMonitor()
    with monitor.watch(layers):
        for _ in range(3):
            x = torch.randn(20, 4)
            for layer in layers:
                x = layer(x)
            seen = monitor.observe(layers, GRAPH)
    assert seen.lipschitz == monitor.history[0].lipschitz
    assert monitor.observe(layers, GRAPH).lipschitz == pytest.approx(seen.lipschitz)
