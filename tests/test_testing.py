"""``pgso.testing``: the checks pass for what we ship, and name the rule that a plug-in breaks."""

import pytest
import torch
from torch_geometric.nn import GATConv, GCNConv, SAGEConv

from pgso import CONVS, PGSO, PRESETS
from pgso.conversion import Converted, Reading, converts
from pgso.conversion.layer import ADAPTERS
from pgso.convs.gcn import GCNConv as Ours
from pgso.testing import EDGES, WEIGHT, check_adapter, check_conv
from tests.registries import restored


@pytest.mark.parametrize("conv", CONVS)
def test_every_conv_of_ours_passes(conv):
    check_conv(conv)


@pytest.mark.parametrize("layer", [GCNConv(4, 3), SAGEConv(4, 3), GATConv(4, 3, heads=2)])
def test_adapters_of_ours_pass(layer):
    check_adapter(layer)


class Numbered(Ours):
    """Adds a number of its own to every node."""

    def forward(self, x, graph, edge_weight=None):
        out = super().forward(x, graph, edge_weight)
        return out + torch.arange(len(out))[:, None]


class Solitary(Ours):
    """Keeps an operator of its own beside the one it is given."""

    def __init__(self, in_channels, out_channels, gso=None):
        super().__init__(in_channels, out_channels, gso)
        self.other = PGSO("gcn")
        self.gso = PGSO("gcn", learn=False)


class Idle(Ours):
    """Has a weight that nothing uses."""

    def __init__(self, in_channels, out_channels, gso=None):
        super().__init__(in_channels, out_channels, gso)
        self.unused = torch.nn.Parameter(torch.ones(1))


@pytest.mark.parametrize(
    ("conv", "rule"),
    [
        (Numbered, "renaming the nodes changes the answers"),
        (Idle, "unused gets no gradient"),
        (Solitary, "gets no gradient|operators of two layers are learned"),
    ],
)
def test_a_conv_that_breaks_a_rule_is_told_which(conv, rule):
    with restored(CONVS):
        CONVS.register("broken")(conv)
        with pytest.raises(AssertionError, match=rule):
            check_conv("broken")


class Lazy(GCNConv):
    """A layer of somebody else."""


def test_an_adapter_that_starts_elsewhere_is_told_so():
    kinds = dict(ADAPTERS)
    try:

        @converts(Lazy)
        class LazyPGSO(Converted, Lazy):
            """Starts at the sum, which is not what the layer computes."""

            reading = Reading(empty=1.0)

            @staticmethod
            def start(layer):
                return PRESETS["adjacency"]

            def forward(self, x, edge_index, edge_weight=None):
                return self.shift(self.lin(x), edge_index, edge_weight)

        with pytest.raises(AssertionError, match="starts as another function"):
            check_adapter(Lazy(4, 3))
    finally:
        ADAPTERS.clear()
        ADAPTERS.update(kinds)


def test_weights_of_edges_are_handed_on():
    assert EDGES.size(1) == len(WEIGHT)
    check_adapter(GCNConv(4, 3), None, WEIGHT)
