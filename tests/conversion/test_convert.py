"""Whole models: what is shared, what is kept, what is refused."""

import copy
import warnings

import pytest
import torch
import torch_geometric.nn as pyg
from torch import nn

import pgso
from pgso import PGSO, convert, param_groups
from pgso.conversion import ConversionWarning, Converted
from pgso.errors import InputError, UnknownNameError
from tests.conversion.kinds import WIDTH, mlp, pna

EDGES = torch.tensor([[0, 1, 1, 2, 2, 3, 5, 5], [1, 0, 2, 1, 3, 2, 0, 5]])
X = torch.randn(6, WIDTH, generator=torch.Generator().manual_seed(0))


class Attributes(nn.Module):
    """Convs in attributes, a ModuleDict and a ModuleList; one of them is used twice."""

    def __init__(self):
        super().__init__()
        self.first = pyg.GCNConv(WIDTH, WIDTH)
        self.by_name = nn.ModuleDict({"mean": pyg.SAGEConv(WIDTH, WIDTH)})
        self.listed = nn.ModuleList([pyg.GraphConv(WIDTH, WIDTH), self.first])
        self.out = nn.Linear(WIDTH, 2)

    def forward(self, x, edge_index):
        x = self.first(x, edge_index).relu()
        x = self.by_name["mean"](x, edge_index).relu()
        for conv in self.listed:
            x = conv(x, edge_index).relu()
        return self.out(x)


def sequential():
    return pyg.Sequential(
        "x, edge_index",
        [
            (pyg.GCNConv(WIDTH, 8), "x, edge_index -> x1"),
            nn.ReLU(),
            (pyg.GATConv(8, 8), "x1, edge_index -> x2"),
            (lambda x1, x2: [x1, x2], "x1, x2 -> xs"),
            (pyg.JumpingKnowledge("cat"), "xs -> x"),
            nn.Linear(16, 2),
        ],
    )


MODELS = {
    "GCN": lambda: pyg.GCN(WIDTH, 8, 3, 2, norm="batch", jk="cat"),
    "GCN lazy": lambda: pyg.GCN(-1, 8, 2, 2),
    "GAT": lambda: pyg.GAT(WIDTH, 8, 2, 2, heads=2, dropout=0.5, act="elu"),
    "GATv2": lambda: pyg.GAT(WIDTH, 8, 2, 2, v2=True, jk="max"),
    "GIN": lambda: pyg.GIN(WIDTH, 8, 2, 2, train_eps=True, jk="lstm"),
    "GraphSAGE": lambda: pyg.GraphSAGE(WIDTH, 8, 2, 2, norm="layer", jk="last"),
    "Sequential": sequential,
    "attributes": Attributes,
    "one layer": lambda: pyg.GCNConv(WIDTH, 2),
}


def operators(model):
    return [module for module in model.modules() if isinstance(module, PGSO)]


@pytest.mark.parametrize("operator", ["pgso", "mpgso"])
@pytest.mark.parametrize("name", MODELS)
def test_models_of_all_shapes_convert_and_answer_as_before(name, operator):
    model = MODELS[name]()
    if name == "GCN lazy":
        model(X, EDGES)
    converted = convert(model, operator)
    for training in (True, False):
        answers = []
        for one in (model, converted):
            torch.manual_seed(1)
            answers.append(one.train(training)(X, EDGES))
        torch.testing.assert_close(answers[1], answers[0], atol=1e-5, rtol=1e-5)
    converted(X, EDGES).square().sum().backward()
    assert all(gso.m2.grad is not None and gso.m2.grad != 0 for gso in operators(converted))


def test_the_given_model_is_left_unchanged():
    model = pyg.GCN(WIDTH, 8, 2, 2)
    before = copy.deepcopy(model.state_dict())
    converted = convert(model)
    with torch.no_grad():
        for parameter in converted.parameters():
            parameter.add_(1)
    assert operators(model) == []
    assert all(type(conv) is pyg.GCNConv for conv in model.convs)
    assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())


def test_lazy_layers_find_their_width_after_conversion():
    converted = convert(pyg.GCN(-1, 8, 2, 2))
    assert converted(X, EDGES).shape == (6, 2)
    assert converted.convs[0].lin.weight.shape == (8, WIDTH)


def test_pgso_is_one_operator_per_starting_point_and_mpgso_one_per_layer():
    model = nn.ModuleList([pyg.GCNConv(4, 4), pyg.GCNConv(4, 4), pyg.SAGEConv(4, 4)])
    shared = convert(model, "pgso")
    assert len(operators(shared)) == 2
    assert shared[0].gso is shared[1].gso
    assert len(operators(convert(model, "mpgso"))) == 3


def test_the_hops_of_sgc_share_an_operator_or_have_one_each():
    assert len(operators(convert(pyg.SGConv(4, 2, K=3), "pgso"))) == 1
    assert len(operators(convert(pyg.SGConv(4, 2, K=3), "mpgso"))) == 3


def test_a_layer_used_twice_is_converted_once():
    converted = convert(Attributes(), "mpgso")
    assert converted.first is converted.listed[1]
    assert len(operators(converted)) == 3


def test_a_preset_is_where_all_layers_start():
    converted = convert(pyg.GraphSAGE(WIDTH, 8, 2, 2), preset="gcn")
    (gso,) = operators(converted)
    assert gso.start == pgso.PRESETS["gcn"]


def test_a_layer_with_another_preset_uses_that_operator():
    layer = pyg.GCNConv(WIDTH, 2)
    A = torch.zeros(6, 6)
    A[EDGES[1, :7], EDGES[0, :7]] = 1.0  # without the self-loop
    wanted = pgso.dense_pgso(A, "laplacian") @ layer.lin(X) + layer.bias
    torch.testing.assert_close(convert(layer, preset="laplacian")(X, EDGES), wanted)


def test_learn_chooses_the_scalars_that_learn():
    (gso,) = operators(convert(pyg.GCN(WIDTH, 8, 2, 2), learn=("m2", "a")))
    assert [name for name, _ in gso.named_parameters()] == ["m2", "a"]
    assert operators(convert(pyg.GCN(WIDTH, 8, 2, 2), learn=False))[0].learned == ()


def test_a_frozen_backbone_leaves_the_scalars_to_learn():
    converted = convert(pyg.GCN(WIDTH, 8, 2, 2), freeze="backbone")
    learning = [name for name, value in converted.named_parameters() if value.requires_grad]
    assert len(learning) == 7
    assert all(".gso." in name for name in learning)


def test_a_frozen_lazy_backbone_stays_frozen_once_it_knows_its_width():
    converted = convert(pyg.GCN(-1, 8, 2, 2), freeze="backbone")
    converted(X, EDGES)
    assert sum(parameter.requires_grad for parameter in converted.parameters()) == 7


def test_param_groups_find_the_operators_of_a_converted_model():
    groups = param_groups(convert(pyg.GCN(WIDTH, 8, 2, 2)))
    assert {group["name"]: len(group["params"]) for group in groups} == {
        "weights": 4,
        "scalars": 4,
        "exponents": 3,
    }


def test_the_operators_learn_with_the_network():
    model = convert(pyg.GCN(WIDTH, 8, 2, 2))
    optimiser = torch.optim.Adam(param_groups(model))
    target = torch.tensor([0, 1, 0, 1, 0, 1])
    losses = []
    for _ in range(30):
        optimiser.zero_grad()
        losses.append(nn.functional.cross_entropy(model(X, EDGES), target))
        losses[-1].backward()
        optimiser.step()
    assert losses[-1] < losses[0]
    (gso,) = operators(model)
    assert gso.parameters_tuple() != gso.start


def hooked(layer):
    layer.register_message_forward_hook(lambda *_: None)
    return layer


def changed(layer, **methods):
    for name, method in methods.items():
        setattr(layer, name, method)
    return layer


@pytest.mark.parametrize(
    ("layer", "reason"),
    [
        (pyg.EdgeConv(mlp()), "no adapter"),
        (pna(["max", "std"]), "none of its aggregators is a mean or a sum"),
        (pyg.RGCNConv(4, 4, 2, aggr="max"), "aggregation 'max'"),
        (pyg.SimpleConv("max"), "aggregation 'max'"),
        (pyg.ClusterGCNConv(4, 4, add_self_loops=False), "add_self_loops=False"),
        (pyg.MixHopConv(4, 4, powers=[0]), "powers=[0]"),
        (pyg.SAGEConv(4, 4, aggr="max"), "aggregation 'max'"),
        (pyg.LEConv((4, 4), 4), "two sets of nodes"),
        (pyg.GINConv(mlp(), aggr="mean"), "aggregation 'mean'"),
        (pyg.ChebConv(4, 4, K=1), "K=1"),
        (pyg.APPNP(3, 0.2, dropout=0.4), "its dropout acts on γ's entries"),
        (pyg.SGConv(4, 4, K=0), "K=0"),
        (pyg.TAGConv(4, 4, K=0), "K=0"),
        (pyg.GraphConv(4, 4, node_dim=0), "node_dim is 0"),
        (hooked(pyg.GCNConv(4, 4)), "hooks"),
        (changed(pyg.GCNConv(4, 4), message=lambda x_j: 2 * x_j), "its message was replaced"),
        (changed(pyg.SAGEConv(4, 4), forward=lambda x, _: x), "its forward was replaced"),
    ],
)
def test_layers_that_cannot_be_converted_are_named_and_stay(layer, reason):
    with pytest.warns(ConversionWarning) as caught:
        converted = convert(nn.ModuleList([pyg.GCNConv(4, 4), layer]))
    (warning,) = caught
    assert f"1 ({type(layer).__name__})" in str(warning.message)
    assert reason in str(warning.message)
    assert type(converted[1]) is type(layer)


@pytest.mark.parametrize("step", ["propagate", "message", "aggregate", "message_and_aggregate"])
@pytest.mark.parametrize("when", ["forward_hook", "forward_pre_hook"])
def test_hooks_on_messages_are_refused_after_conversion_too(step, when):
    own = pgso.GCNConv(4, 4, PGSO())
    for layer in (convert(pyg.GCNConv(4, 4)), own, own.gso):
        with pytest.raises(InputError, match="no messages are sent"):
            getattr(layer, f"register_{step}_{when}")(lambda *_: None)


def test_hooks_on_attention_still_see_it():
    converted, seen = convert(pyg.GATConv(WIDTH, 3)), []
    converted.register_edge_update_forward_hook(lambda module, inputs, out: seen.append(out))
    converted(X, EDGES)
    assert len(seen) == 1


@pytest.mark.parametrize(
    ("layer", "option", "value"),
    [
        (pyg.GCNConv(4, 4), "add_self_loops", False),
        (pyg.GCNConv(4, 4), "improved", True),
        (pyg.GCNConv(4, 4), "message", lambda x_j: x_j),
        (pyg.GATConv(4, 4), "add_self_loops", False),
        (pyg.ClusterGCNConv(4, 4), "add_self_loops", False),
        (pyg.ChebConv(4, 4, K=2), "normalization", None),
        (pyg.SGConv(4, 4, K=2), "K", 3),
    ],
)
def test_options_that_ask_for_another_operator_are_refused_after_conversion(layer, option, value):
    converted = convert(layer)
    before = converted(X, EDGES)
    with pytest.raises(InputError, match=f"set {option} before convert"):
        setattr(converted, option, value)
    assert torch.equal(converted(X, EDGES), before)
    if option in vars(layer):
        setattr(converted, option, getattr(layer, option))  # the same as before is no change


def test_layers_that_were_explained_before_are_converted():
    layer = pyg.GCNConv(WIDTH, 3)
    layer.explain = True  # PyG replaces a method of the layer
    layer.explain = None
    torch.testing.assert_close(convert(layer)(X, EDGES), layer(X, EDGES))


def test_directions_are_wrapped_before_conversion():
    layer = pyg.GCNConv(WIDTH, 3)
    with pytest.raises(InputError, match="set add_self_loops before convert"):
        pyg.DirGNNConv(convert(layer))
    wrapped = pyg.DirGNNConv(layer)
    torch.testing.assert_close(convert(wrapped)(X, EDGES), wrapped(X, EDGES))


def test_a_forward_may_be_wrapped_after_conversion():
    converted = convert(pyg.GCNConv(WIDTH, 3))
    forward, wanted = converted.forward, converted(X, EDGES)
    converted.forward = lambda x, edge_index: 2 * forward(x, edge_index)
    torch.testing.assert_close(converted(X, EDGES), 2 * wanted)


def test_a_subclass_may_do_something_else_and_stays():
    class Mine(pyg.GCNConv):
        pass

    with pytest.warns(ConversionWarning, match="Mine"):
        convert(nn.ModuleList([pyg.GCNConv(4, 4), Mine(4, 4)]))


def converted_names(model):
    return [name for name, module in model.named_modules() if isinstance(module, Converted)]


@pytest.mark.parametrize(
    ("only", "names"),
    [
        (pyg.GCNConv, ["first"]),
        ("by_name", ["by_name.mean"]),
        (["listed.0", pyg.GCNConv], ["first", "listed.0"]),
        ((pyg.SAGEConv, pyg.GraphConv), ["by_name.mean", "listed.0"]),
    ],
)
def test_only_some_layers_are_converted(only, names):
    model = Attributes()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        converted = convert(model, only=only)
    assert converted_names(converted) == names
    torch.testing.assert_close(converted(X, EDGES), model(X, EDGES))


def test_the_rest_can_be_converted_later():
    half = convert(pyg.GCN(WIDTH, 8, 2, 2), only="convs.0")
    assert converted_names(half) == ["convs.0"]
    assert converted_names(convert(half)) == ["convs.0", "convs.1"]
    with pytest.raises(InputError, match="converted already"):
        convert(half, only="convs.0")


def test_only_what_is_there():
    model = pyg.GCN(WIDTH, 8, 2, 2)
    with pytest.raises(InputError, match=r"'conv' means no layer.*convs\.0 \(GCNConv\)"):
        convert(model, only="conv")
    with pytest.raises(InputError, match="'GATConv' means no layer"):
        convert(model, only=[pyg.GATConv])
    with pytest.raises(InputError, match="classes and names of layers, got 3"):
        convert(model, only=[3])


def test_nothing_to_convert_is_an_error_that_says_what_would_be():
    with pytest.raises(InputError, match=r"no layer to convert in this Linear.*GCNConv"):
        convert(nn.Linear(2, 2))
    with pytest.raises(InputError, match=r"EdgeConv\): no adapter"):
        convert(pyg.EdgeConv(nn.Linear(4, 2)))
    with pytest.raises(InputError, match="this GCN is converted already"):
        convert(convert(pyg.GCN(WIDTH, 8, 2, 2)))
    with pytest.raises(InputError, match="no layer to convert"):
        convert(pgso.GNN("gcn", 4, 4, 2))


def test_bad_arguments_are_refused_in_words():
    model = pyg.GCN(WIDTH, 8, 2, 2)
    with pytest.raises(UnknownNameError, match="no operator is called 'mpsgo'"):
        convert(model, "mpsgo")
    with pytest.raises(UnknownNameError, match="no freeze is called 'all'"):
        convert(model, freeze="all")
    with pytest.raises(UnknownNameError, match="no preset is called 'gnc'"):
        convert(model, preset="gnc")
    with pytest.raises(InputError, match="takes a torch module, got str"):
        convert("model")


def test_a_model_that_converts_whole_gives_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        convert(pyg.GIN(WIDTH, 8, 2, 2))


@pytest.mark.parametrize("operator", ["pgso", "mpgso"])
def test_a_reset_takes_the_operators_back_too(operator):
    model = convert(nn.ModuleList([pyg.GCNConv(4, 4), pyg.SGConv(4, 4, K=2)]), operator=operator)
    operators = [gso for gso in model.modules() if isinstance(gso, pgso.PGSO)]
    start = [gso.parameters_tuple() for gso in operators]
    with torch.no_grad():
        for gso in operators:
            gso.e2 += 1
    for layer in model:
        layer.reset_parameters()
    assert [gso.parameters_tuple() for gso in operators] == start


def test_a_converted_model_has_its_own_type_and_prints_what_learns():
    layers = [(pyg.GCNConv(4, 8), "x, edge_index -> x"), (pyg.Linear(8, 2), "x -> x")]
    model = pyg.Sequential("x, edge_index", layers)
    converted = convert(model)
    assert type(converted) is type(model)
    assert "PGSO(m1=0, m2=1, m3=0, e1=0, e2=-0.5, e3=-0.5, a=1)" in repr(converted)
    assert "learn=False" in repr(convert(model, learn=False))
    both = repr(convert(pyg.SGConv(4, 2, K=2), operator="mpgso"))
    assert both.count("PGSO(m1") == 2


def test_pygs_ready_made_models_print_as_before_and_their_layers_what_learns():
    printed = pyg.models.basic_gnn.BasicGNN.__repr__
    converted = convert(pyg.GCN(4, 8, 2, 3), learn=("m2",), only="convs.1")
    assert type(converted) is pyg.GCN
    assert pyg.models.basic_gnn.BasicGNN.__repr__ is printed  # PyG's classes are PyG's
    assert repr(converted) == "GCN(4, 3, num_layers=2)"
    assert "GCNPGSO(8, 3, PGSO(" in repr(converted.convs)
    assert repr(converted.convs).count("learn=m2") == 1


def test_S_of_a_model_in_double_has_all_digits():
    layer = pyg.ClusterGCNConv(WIDTH, 3, diag_lambda=0.7).double()
    x, no_edges = X.double(), torch.empty(2, 0, dtype=torch.long)
    expected = layer.lin_out(1.7 * x) + layer.lin_root(x)
    actual = convert(nn.ModuleList([layer]))[0](x, no_edges)
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-14)
