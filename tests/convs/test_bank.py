"""Banks: at the right terms they are layers of PyG, and their S are fixed, shared or learned."""

import pytest
import torch
import torch_geometric.nn as pyg
from hypothesis import given, settings
from torch_geometric.explain.algorithm.utils import clear_masks, set_masks

from pgso import GNN, PGSO, BankConv, Graph
from pgso.convs.bank import Term
from pgso.errors import InputError
from pgso.graph import Relations
from tests.strategies import dense_shift, edge_lists

DIRECTED = torch.tensor([[0, 1, 2, 2, 3, 4, 0], [1, 2, 0, 3, 4, 0, 2]])  # node 5 is isolated
UNDIRECTED = torch.cat([DIRECTED, DIRECTED.flip(0)], dim=1).unique(dim=1)
X = torch.randn(6, 4, generator=torch.Generator().manual_seed(0))
DIRECTIONS = ("self", "gcn@in", "gcn@out")


def fixed(in_channels, out_channels, terms, **options):
    """A bank whose operators do not learn."""
    gsos = BankConv.make_operators(None, False, "scalar", terms=terms)
    return BankConv(in_channels, out_channels, gsos, terms=terms, **options)


def adjacency(edges, n=6):
    """A in float32, entry by entry: [i, j] for the edge j -> i."""
    A = torch.zeros(n, n)
    for source, target in edges.t().tolist():
        A[target, source] += 1
    return A


def power(degrees, exponent):
    """The diagonal matrix of powers, 0 where there is no degree."""
    return torch.where(degrees > 0, degrees, 1).pow(exponent).mul(degrees > 0).diag()


def dense_sum(layer, x, *matrices):
    """Σ_t M_t x W_t + b."""
    parts = [M @ x @ lin.weight.t() for M, lin in zip(matrices, layer.lins, strict=True)]
    return sum(parts) + (0 if layer.bias is None else layer.bias)


@pytest.mark.parametrize("width", [3, 9])
@settings(max_examples=20)
@given(edges=edge_lists(loops=False, weights="none"))
def test_self_and_mean_is_pygs_sage(width, edges):
    index = edges.edge_index.unique(dim=1) if edges.edge_index.numel() else edges.edge_index
    ours, theirs = fixed(4, width, ("self", "mean")), pyg.SAGEConv(4, width, aggr="mean")
    with torch.no_grad():
        theirs.lin_r.weight.copy_(ours.lins[0].weight)
        theirs.lin_l.weight.copy_(ours.lins[1].weight)
        theirs.lin_l.bias.copy_(ours.bias.fill_(0.3))
    x = torch.randn(edges.num_nodes, 4)
    torch.testing.assert_close(ours(x, index), theirs(x, index), atol=1e-5, rtol=1e-5)
    wanted = (theirs.lin_r.weight, theirs.lin_l.weight, theirs.lin_l.bias)
    gradients = [
        torch.autograd.grad(layer(x, index).square().sum(), weights)
        for layer, weights in (
            (ours, (ours.lins[0].weight, ours.lins[1].weight, ours.bias)),
            (theirs, wanted),
        )
    ]
    for one, two in zip(*gradients, strict=True):
        torch.testing.assert_close(one, two, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("edges", [UNDIRECTED, DIRECTED], ids=["undirected", "directed"])
def test_self_and_gcn_is_a_residual_gcn(edges):
    ours, theirs = fixed(4, 3, ("self", "gcn")), pyg.GCNConv(4, 3)
    with torch.no_grad():
        theirs.lin.weight.copy_(ours.lins[1].weight)
    wanted = theirs(X, edges) + X @ ours.lins[0].weight.t()
    torch.testing.assert_close(ours(X, edges), wanted)


def test_directed_terms_are_pygs_dirgnn():
    ours = fixed(4, 3, ("self", "mean@in", "mean@out"))
    theirs = pyg.DirGNNConv(pyg.SAGEConv(4, 3, root_weight=False), alpha=0.5)
    with torch.no_grad():
        theirs.lin.weight.copy_(ours.lins[0].weight)
        theirs.lin.bias.zero_()
        theirs.conv_in.lin_l.weight.copy_(2 * ours.lins[1].weight)
        theirs.conv_out.lin_l.weight.copy_(2 * ours.lins[2].weight)
        theirs.conv_in.lin_l.bias.zero_()
        theirs.conv_out.lin_l.bias.zero_()
    torch.testing.assert_close(ours(X, DIRECTED), theirs(X, DIRECTED))


def test_degrees_of_the_rows_are_pygs_dirgnn_of_gcn():
    """PyG's GCNConv takes one degree for both ends of an edge."""
    S = (0, 1, 0, 0, -0.5, -0.5, 0)
    gsos = [PGSO(S, learn=False, edges=edges) for edges in ("in", "out")]
    ours = BankConv(4, 3, gsos, terms=("self", "quarter@in", "quarter@out"))
    theirs = pyg.DirGNNConv(pyg.GCNConv(4, 3, bias=False), alpha=0.5)
    with torch.no_grad():
        theirs.lin.weight.copy_(ours.lins[0].weight)
        theirs.lin.bias.zero_()
        theirs.conv_in.lin.weight.copy_(2 * ours.lins[1].weight)
        theirs.conv_out.lin.weight.copy_(2 * ours.lins[2].weight)
    torch.testing.assert_close(ours(X, DIRECTED), theirs(X, DIRECTED))


@pytest.mark.parametrize(("preset", "exponent", "a"), [("quarter", -0.25, 0), ("gcn", -0.5, 1)])
def test_directed_terms_are_normalised_by_both_degrees_as_dir_gcn(preset, exponent, a):
    ours = fixed(4, 3, (f"{preset}@in", f"{preset}@out"))
    A = adjacency(DIRECTED) + a * torch.eye(6)
    inwards = power(A.sum(1), exponent) @ A @ power(A.sum(0), exponent)
    wanted = dense_sum(ours, X, inwards, inwards.t())
    torch.testing.assert_close(ours(X, DIRECTED), wanted)


def test_relations_are_pygs_rgcn():
    kinds = torch.tensor([0, 0, 1, 1, 0, 1, 1])
    relations = Relations({"cites": DIRECTED[:, kinds == 0], "likes": DIRECTED[:, kinds == 1]}, 6)
    ours, theirs = fixed(4, 3, ("self", "mean@cites", "mean@likes")), pyg.RGCNConv(4, 3, 2)
    with torch.no_grad():
        theirs.root.copy_(ours.lins[0].weight.t())
        theirs.weight[0].copy_(ours.lins[1].weight.t())
        theirs.weight[1].copy_(ours.lins[2].weight.t())
    torch.testing.assert_close(ours(X, relations), theirs(X, DIRECTED, kinds))


def test_terms_without_a_relation_take_all_edges_of_relations():
    relations = Relations({"one": DIRECTED[:, :3], "two": DIRECTED[:, 3:]}, 6)
    layer = BankConv(4, 3, terms=DIRECTIONS)
    torch.testing.assert_close(layer(X, relations), layer(X, DIRECTED))
    model = GNN("bank", 4, 8, 3, terms=("self", "gcn@one", "mean@two", "gcn")).eval()
    assert model(X, relations).isfinite().all()


def test_on_an_undirected_graph_both_directions_are_the_same():
    layer = fixed(4, 3, ("gcn@in", "gcn@out"))
    with torch.no_grad():
        layer.lins[1].weight.copy_(-layer.lins[0].weight)
    torch.testing.assert_close(layer(X, UNDIRECTED), torch.zeros(6, 3))


@pytest.mark.parametrize("operator", ["fixed", "pgso", "mpgso"])
@pytest.mark.parametrize("edges", [UNDIRECTED, DIRECTED], ids=["undirected", "directed"])
def test_the_modes_start_as_one_function_and_every_term_has_its_operator(operator, edges):
    def made(mode):
        torch.manual_seed(0)
        return GNN("bank", 4, 8, 3, num_layers=3, operator=mode, terms=DIRECTIONS).eval()

    model = made(operator)
    torch.testing.assert_close(model(X, edges), made("fixed")(X, edges))
    assert len(model.operators) == {"fixed": 2, "pgso": 2, "mpgso": 6}[operator]
    assert [gso.edges for gso in model.operators[:2]] == ["in", "out"]
    learned = [p for gso in model.operators for p in gso.parameters()]
    assert len(learned) == {"fixed": 0, "pgso": 14, "mpgso": 42}[operator]


def test_each_operator_learns_from_its_own_edges():
    layer = BankConv(4, 3, terms=DIRECTIONS)
    layer(X, DIRECTED).square().sum().backward()
    into, out = layer.operators
    for name in ("m2", "e2", "e3", "a"):
        assert getattr(into, name).grad != 0
        assert getattr(into, name).grad != getattr(out, name).grad


def test_self_alone_is_a_linear_map():
    layer = BankConv(4, 3, terms=("self",))
    assert layer.operators == ()
    torch.testing.assert_close(layer(X, DIRECTED), layer.lins[0](X))
    model = GNN("bank", 4, 8, 3, terms=("self",)).eval()
    assert torch.equal(model(X, DIRECTED), model(X, UNDIRECTED))


@pytest.mark.parametrize("width", [3, 9])
def test_sparse_features_and_prepared_graphs_give_the_same(width):
    layer = BankConv(4, width, terms=DIRECTIONS)
    sparse = (X * (X > 0)).to_sparse_csr()
    wanted = layer(sparse.to_dense(), DIRECTED)
    torch.testing.assert_close(layer(sparse, DIRECTED), wanted)
    torch.testing.assert_close(layer(sparse, Graph.from_edge_index(DIRECTED, None, 6)), wanted)


def test_an_explainers_mask_is_on_the_edge_in_both_directions():
    layer = fixed(4, 3, DIRECTIONS)
    mask = torch.ones(DIRECTED.size(1))
    mask[3] = 0.25  # 2 -> 3
    set_masks(layer, mask, DIRECTED, apply_sigmoid=False)
    masked = layer(X, DIRECTED)
    clear_masks(layer)
    A = adjacency(DIRECTED) + torch.eye(6)
    inwards = power(A.sum(1), -0.5) @ A @ power(A.sum(0), -0.5)
    inwards[3, 2] *= 0.25
    torch.testing.assert_close(masked, dense_sum(layer, X, torch.eye(6), inwards, inwards.t()))


def test_a_compiled_bank_of_both_directions_has_the_same_values_and_gradients():
    torch.manual_seed(0)
    model = GNN("bank", 4, 8, 3, terms=DIRECTIONS, dropout=0.0)
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    answers = [
        (out, *torch.autograd.grad(out.square().sum(), list(model.parameters())))
        for out in (model(X, DIRECTED), compiled(X, DIRECTED))
    ]
    for one, two in zip(*answers, strict=True):
        torch.testing.assert_close(one, two, atol=1e-4, rtol=1e-4)


def test_a_preset_is_where_all_terms_start():
    S = (0.1, 0.9, 0.0, 0.2, -0.3, -0.4, 0.5)
    model = GNN("bank", 4, 8, 3, preset=S, terms=DIRECTIONS)
    assert all(gso.start == PGSO(S).start for gso in model.operators)
    with pytest.raises(InputError, match="start at presets of their own; leave out the preset"):
        GNN("bank", 4, 8, 3, preset=S, terms=("gcn", "mean"))


@pytest.mark.parametrize(
    ("terms", "words"),
    [
        ((), "takes a sequence"),
        ("gcn", "takes a sequence"),
        (("gcn", "gcn"), "may occur once"),
        (("self", "gnc"), r"no preset is called 'gnc'\. Did you mean 'gcn'"),
        (("gcn@",), "after @ a term names its edges"),
        (("self@in",), "no preset is called 'self'"),
        ((3,), "a term is a text"),
    ],
)
def test_bad_terms_are_refused_in_words(terms, words):
    for make in (BankConv, lambda *sizes, **options: GNN("bank", *sizes, 3, **options)):
        with pytest.raises(InputError, match=words):
            make(4, 3, terms=terms)


def test_features_that_are_no_numbers_or_too_few_are_refused():
    for terms in (("self", "gcn"), ("gcn", "self"), ("self",)):
        for width in (3, 9):
            with pytest.raises(InputError, match="x must hold floating-point numbers"):
                BankConv(4, width, terms=terms)(torch.ones(6, 4, dtype=torch.long), DIRECTED)
            with pytest.raises(InputError, match="takes 4 features per node, got 3"):
                BankConv(4, width, terms=terms)(X[:, :3], DIRECTED)


def test_half_precision_features_are_taken_where_the_weights_are():
    layer = fixed(4, 3, DIRECTIONS).bfloat16()
    out = layer(X.bfloat16(), DIRECTED)
    assert out.dtype == torch.bfloat16
    torch.testing.assert_close(out.float(), layer.float()(X, DIRECTED), atol=0.1, rtol=0.1)


def test_operators_that_do_not_fit_the_terms_are_refused():
    with pytest.raises(InputError, match="2 of them, got 1"):
        BankConv(4, 3, PGSO(), terms=DIRECTIONS)
    with pytest.raises(InputError, match="no relations"):
        BankConv(4, 3, terms=("gcn@cites",))(X, DIRECTED)
    with pytest.raises(InputError, match=r"no relation is called 'cited'\. Did you mean 'cites'"):
        BankConv(4, 3, terms=("gcn@cited",))(X, Relations({"cites": DIRECTED}, 6))


def test_a_term_is_read_from_its_text():
    assert Term.of("quarter@in") == Term("quarter", "in")
    assert Term.of("gcn") == Term("gcn", None)


def test_a_directed_term_takes_the_degrees_of_both_ends():
    edges = torch.tensor([[0, 0, 1, 3, 2], [1, 2, 2, 2, 0]])
    A = Graph.from_edge_index(edges).to_torch_sparse().to_dense()
    S = (0, 1, 0, 0, -0.5, -0.5, 1)
    for term, matrix in (("gcn@in", A), ("gcn@out", A.t())):
        (gso,) = BankConv(2, 2, terms=(term,)).operators
        actual = gso.on(edges).to_dense().detach()
        torch.testing.assert_close(actual, dense_shift(matrix, S, "both"))
