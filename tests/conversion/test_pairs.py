"""Converted layers between two sets of nodes, in reversed flow, and in heterogeneous models."""

import pytest
import torch
import torch_geometric.nn as pyg
from torch import nn
from torch_geometric import EdgeIndex
from torch_geometric.data import HeteroData
from torch_geometric.explain.algorithm.utils import set_masks

from pgso import PGSO, convert
from pgso.errors import InputError
from tests.conversion.kinds import KINDS, WIDTH, on_edges

SOURCES, TARGETS = torch.randn(4, 8), torch.randn(2, 16)
EDGES = torch.tensor([[0, 1, 2, 3], [0, 0, 1, 1]])
LAYERS = {
    "sage": lambda: pyg.SAGEConv((8, 16), 32),
    "sage sum": lambda: pyg.SAGEConv((8, 16), 32, aggr="sum", project=True),
    "graph": lambda: pyg.GraphConv((8, 16), 32),
    "graph mean": lambda: pyg.GraphConv((8, 16), 32, aggr="mean"),
    "gat": lambda: pyg.GATConv((8, 16), 32, heads=2),
    "gat without loops": lambda: pyg.GATConv((8, 16), 32, heads=2, add_self_loops=False),
    "gatv2": lambda: pyg.GATv2Conv((8, 16), 32, heads=2),
    "transformer": lambda: pyg.TransformerConv((8, 16), 32, heads=2, beta=True),
    "simple cat": lambda: pyg.SimpleConv("mean", combine_root="cat"),
}
ONE_FLOW = ("cheb rw", "cluster", "cluster with a stronger diagonal")
NO_SIZE = (pyg.GATv2Conv, pyg.TransformerConv)


@pytest.fixture(params=LAYERS)
def both(request):
    torch.manual_seed(0)
    layer = LAYERS[request.param]()
    return layer, convert(layer)


def test_a_pair_of_features_gives_what_pyg_gives(both):
    layer, converted = both
    torch.testing.assert_close(
        converted((SOURCES, TARGETS), EDGES), layer((SOURCES, TARGETS), EDGES)
    )


def test_a_size_and_missing_targets_are_understood(both):
    layer, converted = both
    if isinstance(layer, NO_SIZE):
        pytest.skip(f"{type(layer).__name__} takes no size")
    for pair in ((SOURCES, TARGETS), (SOURCES, None)):
        actual, wanted = (one(pair, EDGES, size=(4, 2)) for one in (converted, layer))
        torch.testing.assert_close(actual, wanted)


@pytest.mark.parametrize("layout", ["csr", "coo"])
@pytest.mark.filterwarnings("ignore:Converting sparse tensor")  # PyG's own
def test_a_sparse_rectangle_stands_for_the_edges_of_a_pair(both, layout):
    layer, converted = both
    A = torch.zeros(2, 4).index_put((EDGES[1], EDGES[0]), torch.rand(4) + 0.5)
    A = A.to_sparse_csr() if layout == "csr" else A.to_sparse_coo()
    actual, wanted = (one((SOURCES, TARGETS), A) for one in (converted, layer))
    torch.testing.assert_close(actual, wanted)
    if not isinstance(layer, NO_SIZE):
        actual, wanted = (one((SOURCES, None), A) for one in (converted, layer))
        torch.testing.assert_close(actual, wanted)


def test_the_scalars_of_a_pair_learn(both):
    _, converted = both
    converted((SOURCES, TARGETS), EDGES).square().sum().backward()
    (gso,) = (module for module in converted.modules() if isinstance(module, PGSO))
    assert gso.m2.grad != 0
    assert all(parameter.grad.isfinite() for parameter in gso.parameters())


@pytest.mark.parametrize("make", [pyg.GINConv, pyg.GINEConv])
def test_gin_adds_the_targets_themselves(make):
    layer = make(nn.Linear(8, 5), eps=0.3)
    converted, targets = convert(layer), torch.randn(2, 8)
    more = (torch.randn(4, 8),) if make is pyg.GINEConv else ()
    for pair in ((SOURCES, targets), (SOURCES, None)):
        actual, wanted = (one(pair, EDGES, *more, size=(4, 2)) for one in (converted, layer))
        torch.testing.assert_close(actual, wanted)


EQUAL = {  # targets of the sources' width
    "graph": lambda: pyg.GraphConv((8, 8), 8),
    "simple": lambda: pyg.SimpleConv(),
    "simple with root": lambda: pyg.SimpleConv("mean", combine_root="sum"),
    "transformer": lambda: pyg.TransformerConv((8, 8), 4, heads=2),
}


@pytest.mark.parametrize("name", EQUAL)
def test_targets_as_wide_as_the_sources_take_part_in_the_operator(name):
    torch.manual_seed(0)
    layer, targets = EQUAL[name](), torch.randn(2, 8)
    converted = convert(layer)
    actual = converted((SOURCES, targets), EDGES)
    torch.testing.assert_close(actual, layer((SOURCES, targets), EDGES))
    actual.square().sum().backward()
    assert converted.gso.m3.grad != 0


ATTENTION = {
    "gat": lambda: pyg.GATConv((8, 8), 4, heads=2, add_self_loops=False),
    "gatv2": lambda: pyg.GATv2Conv((8, 8), 4, add_self_loops=False),
    "transformer": lambda: pyg.TransformerConv((8, 8), 4, heads=2),
}


@pytest.mark.parametrize("name", ATTENTION)
def test_between_two_sets_the_numbers_of_the_sources_mean_nothing(name):
    converted, targets = convert(ATTENTION[name]()), torch.randn(2, 8)
    with torch.no_grad():
        converted.gso.a.fill_(0.5)
    order = torch.tensor([2, 3, 0, 1])
    renamed = torch.stack([order.argsort()[EDGES[0]], EDGES[1]])
    outputs = [converted((SOURCES, targets), EDGES), converted((SOURCES[order], targets), renamed)]
    torch.testing.assert_close(*outputs)
    gradients = [torch.autograd.grad(out.square().sum(), converted.gso.a) for out in outputs]
    torch.testing.assert_close(*gradients)


MASKED = {
    **EQUAL,
    "sage": lambda: pyg.SAGEConv((8, 8), 4),
    "gin": lambda: pyg.GINConv(nn.Linear(8, 4)),
    "gat": lambda: pyg.GATConv((8, 8), 4),
}


@pytest.mark.parametrize("name", MASKED)
@pytest.mark.parametrize("targets", [torch.randn(2, 8), None])
def test_an_explainers_mask_weighs_the_edges_of_a_pair(name, targets):
    if targets is None and name == "transformer":
        pytest.skip("TransformerConv needs targets")
    layer, mask, outputs = MASKED[name]().eval(), torch.rand(4), []
    size = {} if name == "transformer" else {"size": (4, 2)}
    for model in (layer, convert(layer)):
        set_masks(model, mask, EDGES, apply_sigmoid=False)
        outputs.append(model((SOURCES, targets), EDGES, **size))
    torch.testing.assert_close(*outputs)


def test_weights_on_the_edges_of_a_pair_are_used():
    weight, targets = torch.rand(4) + 0.5, torch.randn(2, 8)
    for layer in (pyg.GraphConv((8, 8), 8), pyg.SimpleConv("mean"), pyg.SimpleConv()):
        actual, wanted = (one((SOURCES, targets), EDGES, weight) for one in (convert(layer), layer))
        torch.testing.assert_close(actual, wanted)


@pytest.mark.parametrize("aggr", ["sum", "mean"])
def test_weights_of_a_pair_that_learn_leave_the_operator_as_it_is(aggr):
    layer, targets = convert(pyg.GraphConv((8, 8), 8, aggr=aggr)), torch.randn(2, 8)
    with torch.no_grad():
        layer.gso.e3 += 0.5  # of the sums over columns
    weight = torch.tensor([0.5, 3.0, -1.0, 2.0])
    wanted = layer((SOURCES, targets), EDGES, weight)
    actual = layer((SOURCES, targets), EDGES, weight.clone().requires_grad_())
    torch.testing.assert_close(actual, wanted)


def test_self_loops_between_two_sets_are_refused():
    with pytest.raises(InputError, match="self-loops join nodes of one set"):
        convert(pyg.SimpleConv(combine_root="self_loop"))((SOURCES, TARGETS), EDGES)


@pytest.mark.parametrize("options", [{}, {"num_bases": 2}, {"num_blocks": 2}, {"aggr": "sum"}])
@pytest.mark.parametrize("operator", ["pgso", "mpgso"])
def test_relations_between_two_sets(options, operator):
    kinds = torch.tensor([0, 1, 1, 0])
    layer = pyg.RGCNConv((8, 16), 6, 2, **options)
    converted = convert(layer, operator)
    wanted = layer((SOURCES, TARGETS), EDGES, kinds)
    torch.testing.assert_close(converted((SOURCES, TARGETS), EDGES, kinds), wanted)
    assert len([one for one in converted.modules() if isinstance(one, PGSO)]) == (
        2 if operator == "mpgso" else 1
    )


def test_relations_on_embeddings():
    edges, kinds = torch.tensor([[0, 1, 2, 3, 0], [1, 2, 3, 0, 2]]), torch.tensor([0, 1, 1, 0, 1])
    for options in ({}, {"num_bases": 2}):
        layer = pyg.RGCNConv(4, 6, 2, **options)
        converted = convert(layer)
        for x in (None, torch.tensor([3, 1, 0, 2])):
            torch.testing.assert_close(converted(x, edges, kinds), layer(x, edges, kinds))
        two = (None, torch.arange(4))
        torch.testing.assert_close(converted(two, edges, kinds), layer(two, edges, kinds))
    with pytest.raises(InputError, match="takes features, not indices"):
        convert(pyg.RGCNConv(4, 6, 2, num_blocks=2))(None, edges, kinds)
    with pytest.raises(InputError, match="needs edge_type"):
        converted(None, edges)


def test_layers_may_have_different_numbers_of_relations():
    edges, kinds = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]]), torch.tensor([0, 1, 1, 0])
    for layer in (pyg.RGCNConv(8, 6, 2), pyg.RGCNConv(8, 6, 4)):
        wanted = layer(SOURCES, edges, kinds)
        torch.testing.assert_close(convert(layer)(SOURCES, edges, kinds), wanted)


def test_other_kinds_of_edges_are_noticed():
    edges, kinds = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]]), torch.tensor([0, 1, 1, 0])
    layer = pyg.RGCNConv(8, 6, 2)
    converted = convert(layer)
    for _ in range(2):
        torch.testing.assert_close(converted(SOURCES, edges, kinds), layer(SOURCES, edges, kinds))
        kinds[0], edges[0, 1] = 1, 3


@pytest.mark.parametrize("name", [name for name in KINDS if name not in ONE_FLOW])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_reversed_flow_is_honoured_before_and_after_conversion(name, when):
    kind, edges = KINDS[name], torch.tensor([[0, 1, 2, 3, 0], [1, 2, 3, 0, 2]])
    layer, x = kind.make().eval(), torch.randn(4, WIDTH)
    if when == "before":
        layer.flow = "target_to_source"
    converted = convert(layer)
    layer.flow = converted.flow = "target_to_source"
    inputs = kind.inputs(x, edges, *on_edges(kind, 5, torch.rand(5) + 0.5))
    torch.testing.assert_close(converted(*inputs), layer(*inputs), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", ONE_FLOW)
def test_a_flow_that_gamma_cannot_follow_is_refused_before_and_after(name):
    with pytest.raises(InputError, match="flow cannot change on a converted layer"):
        convert(KINDS[name].make()).flow = "target_to_source"
    layer = KINDS[name].make()
    layer.flow = "target_to_source"
    with pytest.raises(InputError, match="degrees that γ does not have"):
        convert(layer)


def hetero_data():
    data = HeteroData()
    data["user"].x, data["film"].x = torch.randn(5, 8), torch.randn(3, 16)
    data["user", "rates", "film"].edge_index = torch.tensor([[0, 1, 2, 4], [0, 1, 1, 2]])
    data["film", "rated", "user"].edge_index = torch.tensor([[0, 1, 1, 2], [0, 1, 2, 4]])
    data["user", "knows", "user"].edge_index = torch.tensor([[0, 1], [1, 0]])
    return data


class TwoLayers(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = pyg.SAGEConv((-1, -1), 8), pyg.SAGEConv((-1, -1), 4)

    def forward(self, x, edge_index):
        return self.second(self.first(x, edge_index).relu(), edge_index)


def hetero_convs():
    layers = {
        ("user", "rates", "film"): pyg.SAGEConv((8, 16), 4),
        ("film", "rated", "user"): pyg.GATConv((16, 8), 4, add_self_loops=False),
        ("user", "knows", "user"): pyg.GCNConv(8, 4),
    }
    return pyg.HeteroConv(layers)


@pytest.mark.parametrize("operator", ["pgso", "mpgso"])
@pytest.mark.parametrize(
    "make", [lambda data: pyg.to_hetero(TwoLayers(), data.metadata()), lambda data: hetero_convs()]
)
@pytest.mark.filterwarnings("ignore")  # PyG's own
def test_heterogeneous_models_answer_as_before(make, operator):
    data = hetero_data()
    model = make(data)
    with torch.no_grad():
        wanted = model(data.x_dict, data.edge_index_dict)  # sizes are found on first use
    actual = convert(model, operator=operator)(data.x_dict, data.edge_index_dict)
    for kind, values in wanted.items():
        torch.testing.assert_close(actual[kind], values)


WITHOUT_TARGETS = [
    pyg.SAGEConv(WIDTH, 2),
    pyg.GraphConv(WIDTH, 2),
    pyg.GATConv(WIDTH, 2, add_self_loops=False),
    pyg.GINConv(nn.Linear(WIDTH, 2)),
]


@pytest.mark.parametrize("layer", WITHOUT_TARGETS, ids=lambda layer: type(layer).__name__)
def test_an_edge_index_of_known_size_says_how_many_targets_there_are(layer):
    edges = EdgeIndex([[0, 1, 3, 2], [1, 0, 2, 1]], sparse_size=(5, 4))
    x = torch.randn(5, WIDTH)
    wanted, actual = layer((x, None), edges), convert(layer)((x, None), edges)
    assert len(wanted) == 4
    torch.testing.assert_close(actual, wanted)


@pytest.mark.parametrize("layer", [pyg.GCNConv(WIDTH, 2), pyg.SAGEConv(WIDTH, 2)])
def test_features_of_another_number_of_nodes_than_the_edge_index_are_refused(layer):
    edges = EdgeIndex([[0, 1], [1, 0]], sparse_size=(5, 5))
    with pytest.raises(ValueError, match="Encountered tensor with size 4"):  # PyG's own
        layer(torch.randn(4, WIDTH), edges)
    with pytest.raises(InputError, match=r"there are 4 source nodes, .* sparse_size \(5, 5\)"):
        convert(layer)(torch.randn(4, WIDTH), edges)


def test_sources_alone_may_have_a_known_number():
    edges = EdgeIndex([[0, 1], [1, 0]], sparse_size=(3, None))
    layer, x = pyg.SAGEConv(WIDTH, 2), torch.randn(3, WIDTH)
    with pytest.raises(InputError, match=r"there are 4 source nodes, .* sparse_size \(3, None\)"):
        convert(layer)((torch.randn(4, WIDTH), torch.randn(6, WIDTH)), edges)
    assert convert(layer)((x, torch.randn(6, WIDTH)), edges).shape == (6, 2)
