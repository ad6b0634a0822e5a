"""Every kind of converted layer against PyG's own, on graphs as they come."""

import pytest
import torch
import torch_geometric.nn as pyg
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric import EdgeIndex
from torch_geometric.data import Data
from torch_geometric.explain.algorithm.utils import set_masks

from pgso import PGSO, Graph, convert
from pgso.conversion.layer import ADAPTERS
from pgso.errors import InputError
from tests.conversion.kinds import KINDS, WIDTH, on_edges
from tests.strategies import edge_lists

EDGES = torch.tensor([[0, 1, 1, 2, 2, 3, 5], [1, 0, 2, 1, 3, 2, 0]])  # 4 is isolated, 5 only sends
WEIGHTED = [name for name, kind in KINDS.items() if kind.edges == "weights"]
EDGES_ONLY = ("cheb", "gine", "rgcn", "arma", "pna of", "transformer edges")  # in PyG
MERGED = "simple mean with loops"  # where PyG counts a stored diagonal and its own loop as one
OF_A = ["gcn of A", "tag of A", "appnp of A", "graph", "graph mean", "le"]  # take any sign
X = torch.randn(6, WIDTH, generator=torch.Generator().manual_seed(0))


def both(layer, *inputs, training=False):
    """The outputs of the layer and of its converted form, on the same random numbers."""
    outputs = []
    for model in (layer, convert(layer)):
        torch.manual_seed(0)
        outputs.append(model.train(training)(*inputs))
    return outputs


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", KINDS)
@settings(max_examples=8)
@given(edges=edge_lists(), weights=st.sampled_from(["none", "positive"]))
def test_outputs_are_unchanged_at_step_0(name, training, edges, weights):
    kind, weight = KINDS[name], None
    if weights == "positive":
        weight = torch.rand(edges.edge_index.size(1)) + 0.1
    further = on_edges(kind, edges.edge_index.size(1), weight)
    x = torch.randn(edges.num_nodes, WIDTH)
    inputs = kind.inputs(x, edges.edge_index, *further)
    wanted, actual = both(kind.make(), *inputs, training=training)
    if wanted.isfinite().all():  # a Laplacian without edges is 0 / 0 in PyG
        torch.testing.assert_close(actual, wanted, atol=1e-5, rtol=1e-6)


@pytest.mark.parametrize("name", OF_A)
@settings(max_examples=15)
@given(edges=edge_lists(weights="signed"))
def test_signed_weights_and_negative_degrees_change_nothing(name, edges):
    x, weight = torch.randn(edges.num_nodes, WIDTH), edges.edge_weight.float()
    wanted, actual = both(KINDS[name].make(), x, edges.edge_index, weight)
    torch.testing.assert_close(actual, wanted, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", KINDS)
def test_weights_and_features_get_the_gradients_of_pyg(name):
    kind = KINDS[name]
    layer = kind.make().eval()
    converted = convert(layer)
    further = on_edges(kind, EDGES.size(1), torch.rand(EDGES.size(1)) + 0.5)
    numbers = [value.requires_grad_() for value in further if value.is_floating_point()]
    leaves = [X.clone().requires_grad_(), *numbers]
    own = dict(converted.named_parameters())
    wanted, actual = (
        torch.autograd.grad(
            model(*kind.inputs(leaves[0], EDGES, *further)).square().sum(),
            [*leaves, *weights],
            materialize_grads=True,
        )
        for model, weights in (
            (layer, layer.parameters()),
            (converted, [own[key] for key, _ in layer.named_parameters()]),
        )
    )
    for one, other in zip(actual, wanted, strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("name", WEIGHTED)
def test_forward_derivatives_reach_the_weights_as_in_pyg(name):
    kind, x = KINDS[name], X.double()
    layer, weight = kind.make().double().eval(), torch.rand(7, dtype=torch.float64) + 0.5
    wanted, actual = (
        torch.func.jvp(lambda w: model(*kind.inputs(x, EDGES, w)), (weight,), (weight.flip(0),))[1]  # noqa: B023
        for model in (layer, convert(layer))
    )
    torch.testing.assert_close(actual, wanted)


@pytest.mark.parametrize("name", KINDS)
def test_the_scalars_learn(name):
    kind = KINDS[name]
    converted = convert(kind.make())
    converted(*kind.inputs(X, EDGES, *on_edges(kind, EDGES.size(1)))).square().sum().backward()
    (gso,) = [module for module in converted.modules() if isinstance(module, PGSO)]
    gradients = {key: scalar.grad for key, scalar in gso.named_parameters()}
    assert all(gradient is not None and gradient.isfinite() for gradient in gradients.values())
    assert gradients["m2"] != 0
    assert gradients["m3"] != 0
    assert gradients["e3"] != 0


@pytest.mark.parametrize("name", KINDS)
def test_the_state_dict_is_pygs_and_the_scalars(name):
    layer = KINDS[name].make()
    kept = convert(layer).state_dict()
    for key, value in layer.state_dict().items():
        assert torch.equal(kept[key], value)
    assert all(key.startswith(("gso.", "hops.")) for key in set(kept) - set(layer.state_dict()))


@pytest.mark.parametrize("name", [name for name in KINDS if not name.startswith("rgcn")])
def test_an_explainers_mask_weighs_what_it_weighs_in_pyg(name):
    kind, layer, mask = KINDS[name], KINDS[name].make().eval(), torch.rand(EDGES.size(1))
    inputs = kind.inputs(X, EDGES, *on_edges(kind, EDGES.size(1), torch.rand(7) + 0.5))
    outputs = []
    for model in (layer, convert(layer)):
        set_masks(model, mask, EDGES, apply_sigmoid=False)
        outputs.append(model(*inputs))
    torch.testing.assert_close(*outputs)


def test_a_mask_finds_the_edges_of_each_relation():
    layer, kinds = KINDS["rgcn sum"].make(), torch.arange(EDGES.size(1)) % 2
    keep = torch.tensor([True, False, True, True, True, False, True])
    wanted = layer(X, EDGES[:, keep], kinds[keep])  # PyG's own cannot be masked
    converted = convert(layer)
    set_masks(converted, keep.float(), EDGES, apply_sigmoid=False)
    torch.testing.assert_close(converted(X, EDGES, kinds), wanted)


@pytest.mark.parametrize("name", ["simple mean", "transformer", "rgcn sum"])
def test_converted_layers_compile_whole(name):
    kind, converted = KINDS[name], convert(KINDS[name].make()).eval()
    inputs = kind.inputs(X, EDGES, *on_edges(kind, EDGES.size(1), torch.rand(7) + 0.5))
    torch._dynamo.reset()
    compiled = torch.compile(converted, fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(*inputs), converted(*inputs))


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning", "ignore::DeprecationWarning")
def test_traced_layers_take_other_graphs(name):
    kind, converted = KINDS[name], convert(KINDS[name].make()).eval()
    inputs = kind.inputs(X, EDGES, *on_edges(kind, EDGES.size(1), torch.rand(7) + 0.5))
    traced = torch.jit.trace(converted, inputs, check_trace=False)
    larger = torch.tensor([[0, 7, 7, 2, 2, 3, 6, 1], [1, 0, 2, 1, 3, 7, 0, 7]])
    further = on_edges(kind, 8, torch.rand(8) + 0.5)
    inputs = kind.inputs(torch.randn(8, WIDTH), larger, *further)
    torch.testing.assert_close(traced(*inputs), converted(*inputs))


def test_the_table_of_kinds_is_complete():
    assert {type(kind.make()) for kind in KINDS.values()} == set(ADAPTERS)


@pytest.mark.parametrize(
    "name",
    [name for name in KINDS if not name.startswith((*EDGES_ONLY, MERGED))],
)
def test_a_sparse_adjacency_keeps_working(name):
    A = torch.zeros(6, 6)
    A[EDGES[1], EDGES[0]] = torch.rand(EDGES.size(1)) + 0.5
    A[2, 2] = 0.7
    kind = KINDS[name]
    wanted, actual = both(kind.make(), *kind.inputs(X, A.to_sparse_csr()))
    torch.testing.assert_close(actual, wanted, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", KINDS)
def test_pygs_edge_index_class_and_a_prepared_graph_keep_working(name):
    kind = KINDS[name]
    converted, order = convert(kind.make()).eval(), (EDGES[1] * 6 + EDGES[0]).argsort()
    edges = EDGES[:, order]  # the order of a Graph
    further = on_edges(kind, EDGES.size(1))
    wanted = converted(*kind.inputs(X, edges, *further))
    graph = Graph.from_edge_index(edges, num_nodes=6)
    for other in (EdgeIndex(edges, sparse_size=(6, 6)), graph):
        torch.testing.assert_close(converted(*kind.inputs(X, other, *further)), wanted)


@pytest.mark.parametrize("name", ["gcn", "gcn of A", "graph", "tag", "appnp", "le", "cheb", "gin"])
def test_features_with_leading_dimensions_keep_working(name):
    stack = torch.randn(2, 6, WIDTH)
    wanted, actual = both(KINDS[name].make(), stack, EDGES)
    torch.testing.assert_close(actual, wanted, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", KINDS)
def test_double_precision_is_kept(name):
    kind = KINDS[name]
    further = on_edges(kind, EDGES.size(1), torch.rand(7) + 0.5)
    further = [value.double() if value.is_floating_point() else value for value in further]
    wanted, actual = both(kind.make().double(), *kind.inputs(X.double(), EDGES, *further))
    assert actual.dtype == wanted.dtype == torch.float64
    short = {"atol": 1e-5, "rtol": 1e-5}  # PyG's ClusterGCNConv counts in single precision
    close = short if name.startswith("cluster") else {"atol": 1e-12, "rtol": 1e-10}
    torch.testing.assert_close(actual, wanted, **close)


@pytest.mark.parametrize("name", KINDS)
def test_autocast_gives_the_type_that_it_gives_pyg(name):
    kind, layer = KINDS[name], KINDS[name].make().eval()
    converted = convert(layer)
    for weight in (None, torch.rand(7) + 0.5):
        further = on_edges(kind, EDGES.size(1), weight)
        for x in (X, X.bfloat16()):
            if x.dtype == torch.bfloat16 and name.startswith("pna"):
                continue  # PyG refuses these
            inputs = kind.inputs(x, EDGES, *further)
            with torch.autocast("cpu", dtype=torch.bfloat16):
                wanted, actual = layer(*inputs), converted(*inputs)
            assert actual.dtype == wanted.dtype
            torch.testing.assert_close(actual.float(), wanted.float(), atol=0.1, rtol=0.1)


def test_a_largest_eigenvalue_per_graph_is_used():
    layer, batch = pyg.ChebConv(WIDTH, 3, K=3), torch.tensor([0, 0, 0, 0, 1, 0])
    wanted, actual = both(layer, X, EDGES, None, batch, torch.tensor([1.6, 2.0]))
    torch.testing.assert_close(actual, wanted, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", [name for name in KINDS if not name.startswith("cheb")])
def test_no_nodes_give_no_outputs(name):  # PyG's ChebConv has no largest eigenvalue of nothing
    kind, none = KINDS[name], torch.empty(2, 0, dtype=torch.long)
    inputs = kind.inputs(X[:0], none, *on_edges(kind, 0))
    wanted, actual = both(kind.make(), *inputs)
    assert actual.shape == wanted.shape


def test_cached_layers_keep_the_graph_and_not_the_features():
    converted = convert(pyg.SGConv(WIDTH, 3, K=2, cached=True))
    assert not torch.equal(converted(X, EDGES), converted(2 * X, EDGES))


@pytest.mark.parametrize("name", ["le", "gcn", "sgc", "cheb"])
def test_two_sets_of_nodes_are_refused_in_words(name):
    kind = KINDS[name]
    further = on_edges(kind, EDGES.size(1))
    with pytest.raises(InputError, match="one set of nodes"):
        convert(kind.make())((X, X[:3]), EDGES, *further)


@pytest.mark.parametrize("name", ["gcn", "sgc", "tag", "appnp", "arma", "mixhop", "cheb", "le"])
def test_the_same_features_twice_are_those_of_one_set_of_nodes(name):
    converted = convert(KINDS[name].make()).eval()
    torch.testing.assert_close(converted((X, X), EDGES), converted(X, EDGES))


@pytest.mark.parametrize("name", ["gat", "gatv2", "gat without loops"])
def test_attention_weights_are_those_of_pyg(name):
    layer = KINDS[name].make().eval()
    actual, wanted = (
        model(X, EDGES, return_attention_weights=True) for model in (convert(layer), layer)
    )
    torch.testing.assert_close(actual, wanted)
    assert isinstance(convert(layer)(X, EDGES, return_attention_weights=False), torch.Tensor)


def test_features_of_many_batches_are_taken_where_pyg_takes_them():
    for name in ("gine", "graph", "sage", "gcn"):
        kind = KINDS[name]
        further = on_edges(kind, EDGES.size(1))
        ours, theirs = both(kind.make(), torch.stack([X, 2 * X]), EDGES, *further)
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("name", ["graph", "graph mean", "le"])
def test_integer_weights_are_numbers_too(name):
    ours, theirs = both(KINDS[name].make(), X, EDGES, torch.arange(1, 8))
    torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("name", ["sage", "graph mean", "tag", "gcn"])
def test_a_node_of_many_neighbours_counts_them_all_where_the_default_type_is_short(name):
    leaves = torch.arange(1, 601)
    star = torch.stack([leaves, torch.zeros_like(leaves)])
    star = torch.cat([star, star.flip(0)], dim=1)
    layer = KINDS[name].make()
    x = torch.rand(601, WIDTH, generator=torch.Generator().manual_seed(0))
    wanted = layer(x, star)
    torch.set_default_dtype(torch.bfloat16)
    try:
        actual = convert(layer)(x, star)
    finally:
        torch.set_default_dtype(torch.float32)
    torch.testing.assert_close(actual, wanted)


def test_pygs_data_stands_for_a_graph():
    layer = convert(pyg.GCNConv(WIDTH, 3))
    data = Data(edge_index=EDGES, edge_weight=torch.rand(7), num_nodes=6)
    torch.testing.assert_close(layer(X, data), layer(X, EDGES, data.edge_weight))
    weighed = data.edge_index, data.edge_weight
    assert layer.reading.graph(data, None, 6) is layer.reading.graph(*weighed, 6)


def test_weights_beside_a_graph_that_has_its_own_are_refused():
    layer, graph = convert(pyg.GCNConv(WIDTH, 3)), Graph.from_edge_index(EDGES)
    with pytest.raises(InputError, match="a Graph has its own"):
        layer(X, graph, torch.rand(7))


def test_edges_that_cannot_be_are_refused_in_words():
    converted = convert(pyg.GCNConv(WIDTH, 3))
    with pytest.raises(InputError, match="names node 9"):
        converted(X, torch.tensor([[0], [9]]))
    with pytest.raises(InputError, match="must be a tensor"):
        converted(X, [[0], [1]])
    with pytest.raises(InputError, match="one number per edge"):
        converted(X, EDGES, torch.ones(3))


@pytest.mark.parametrize("adds", [True, False])
@pytest.mark.parametrize("kind", [pyg.GATConv, pyg.GATv2Conv])
def test_attention_on_a_sparse_adjacency_comes_back_as_pygs(kind, adds):
    A = (torch.rand(6, 6, generator=torch.Generator().manual_seed(0)) < 0.5).float()
    layer = kind(X.size(1), 3, heads=2, add_self_loops=adds)
    for matrix in (A.to_sparse_csr(), A.to_sparse_coo()):
        (_, wanted), (_, actual) = (
            model(X, matrix, return_attention_weights=True) for model in (layer, convert(layer))
        )
        torch.testing.assert_close(actual[0].to_dense(), wanted[0].to_dense())
        torch.testing.assert_close(actual[1], wanted[1])


@pytest.mark.parametrize(
    "layer",
    [
        pyg.GINEConv(torch.nn.Linear(WIDTH, 3), edge_dim=2),
        pyg.PNAConv(WIDTH, 3, ["mean", "max"], ["identity"], torch.tensor([1, 3]), edge_dim=2),
        pyg.GATConv(WIDTH, 3, edge_dim=2, add_self_loops=False),
    ],
    ids=lambda layer: type(layer).__name__,
)
def test_a_sparse_adjacency_of_vectors_holds_the_edge_features(layer):
    edges, features = torch.tensor([[0, 1, 3, 2], [0, 1, 1, 2]]), torch.randn(4, 2)
    A = torch.sparse_coo_tensor(edges.flip(0), features, (4, 4, 2)).coalesce()
    x = torch.randn(4, WIDTH)
    wanted = layer(x, A)
    torch.testing.assert_close(wanted, layer(x, edges, features))
    torch.testing.assert_close(convert(layer)(x, A), wanted)
