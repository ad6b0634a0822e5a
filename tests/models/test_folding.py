"""A folded model answers as the learned one did, with nothing of S left to learn."""

import subprocess
import sys

import pytest
import torch
import torch_geometric.nn as pyg
from hypothesis import given
from torch import nn

from pgso import CONVS, GNN, PGSO, Graph, convert, fold
from pgso.errors import InputError
from tests.conversion.kinds import KINDS, WIDTH, on_edges
from tests.strategies import edge_lists, parameters, random_features

EDGES = torch.tensor([[0, 1, 1, 2, 2, 3, 5, 5, 5], [1, 0, 2, 1, 3, 2, 0, 0, 5]])
X = torch.randn(6, WIDTH, generator=torch.Generator().manual_seed(0))


def learned(model):
    """The model with its scalars somewhere else than at the start."""
    with torch.no_grad():
        for gso in model.modules():
            if isinstance(gso, PGSO):
                for place, scalar in enumerate(gso.parameters()):
                    scalar.add_(0.1 * (place - 2))
    return model.eval()


def assert_folded(model, *inputs):
    folded = fold(model)
    torch.testing.assert_close(folded(*inputs), model(*inputs), atol=1e-5, rtol=1e-5)
    assert not any(gso.learned for gso in folded.modules() if isinstance(gso, PGSO))
    scalars = sum(p.numel() for g in model.modules() if isinstance(g, PGSO) for p in g.parameters())
    count = sum(parameter.numel() for parameter in model.parameters())
    assert sum(parameter.numel() for parameter in folded.parameters()) == count - scalars


@given(edges=edge_lists(), S=parameters())
def test_a_folded_operator_is_the_operator(edges, S):
    x, gso = random_features(edges.num_nodes), PGSO(S).double()
    inputs = x, edges.edge_index, edges.edge_weight
    torch.testing.assert_close(fold(gso)(*inputs), gso(*inputs))


@pytest.mark.parametrize("operator", ["pgso", "mpgso"])
@pytest.mark.parametrize("conv", CONVS)
def test_own_models_answer_as_before(conv, operator):
    model = learned(GNN(conv, WIDTH, 8, 2, operator=operator, jk="cat"))
    assert_folded(model, X, EDGES, torch.rand(EDGES.size(1)) + 0.5)


@pytest.mark.parametrize("name", KINDS)
def test_converted_layers_answer_as_before(name):
    kind = KINDS[name]
    further = on_edges(kind, EDGES.size(1), torch.rand(EDGES.size(1)) + 0.5)
    assert_folded(learned(convert(kind.make())), *kind.inputs(X, EDGES, *further))


def test_the_given_model_keeps_learning():
    model = GNN("gcn", WIDTH, 8, 2)
    fold(model)
    assert len(model.operators) == 1
    assert model.training


def test_shared_operators_stay_shared():
    folded = fold(convert(pyg.GCN(WIDTH, 8, 3, 2)))
    assert sum(isinstance(module, PGSO) for module in folded.modules()) == 1


def test_nothing_to_fold_is_an_error():
    with pytest.raises(InputError, match="no operator to fold in this Linear"):
        fold(nn.Linear(2, 2))
    with pytest.raises(InputError, match="takes a torch module"):
        fold("model")


def test_a_prepared_graph_serves_as_well():
    model = learned(GNN("gcn", WIDTH, 8, 2))
    graph = Graph.from_edge_index(EDGES, num_nodes=6)
    torch.testing.assert_close(fold(model)(X, graph), model(X, EDGES))


SERVE = """
import sys
sys.modules.update(pgso=None, torch_geometric=None)  # importing either fails
import torch
inputs, outputs, *programs = sys.argv[1:]
x, edges = torch.load(inputs)
torch.save([torch.export.load(program).module()(x, edges) for program in programs], outputs)
"""


@pytest.mark.filterwarnings("ignore")  # torch.export warns about itself
def test_exported_programs_serve_where_neither_pgso_nor_pyg_is(tmp_path):
    models = {"own": GNN("gat", WIDTH, 8, 2), "converted": convert(pyg.GCN(WIDTH, 8, 2, 2))}
    inputs, outputs = tmp_path / "in.pt", tmp_path / "out.pt"
    sizes = ({0: torch.export.Dim("n")}, {1: torch.export.Dim("E")})
    served = {name: fold(learned(model)) for name, model in models.items()}
    programs = [tmp_path / f"{name}.pt2" for name in served]
    for model, program in zip(served.values(), programs, strict=True):
        torch.export.save(torch.export.export(model, (X, EDGES), dynamic_shapes=sizes), program)
    x, edges = torch.randn(9, WIDTH), torch.randint(0, 9, (2, 20))  # a graph of another size
    torch.save((x, edges), inputs)
    command = [sys.executable, "-W", "ignore", "-c", SERVE, inputs, outputs, *programs]
    subprocess.run(command, check=True)
    for model, answer in zip(served.values(), torch.load(outputs), strict=True):
        torch.testing.assert_close(answer, model(x, edges), atol=1e-5, rtol=1e-5)


def test_doubles_stay_doubles_and_an_operator_alone_can_be_folded():
    gso = PGSO((0.1, 1.0, 0.2, 0.3, -0.3, -0.7, 1.1)).double()
    with torch.no_grad():
        gso.e2 += 1e-9  # which 32 bits do not hold
    x, edges = torch.randn(3, 2, dtype=torch.float64), torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    torch.testing.assert_close(fold(gso)(x, edges), gso(x, edges).detach(), rtol=1e-14, atol=1e-14)


def test_a_folded_bank_keeps_the_direction_of_its_terms():
    torch.manual_seed(0)
    model = GNN("bank", 4, 8, 3, terms=("self", "gcn@in", "quarter@out")).eval()
    edges = torch.tensor([[0, 1, 2, 2, 3], [1, 2, 0, 3, 0]])
    x = torch.randn(4, 4)
    folded = fold(model)
    torch.testing.assert_close(folded(x, edges), model(x, edges))
    assert [gso.edges for gso in folded.operators] == ["in", "out"]


@pytest.mark.parametrize("basis", ["chebyshev", "jacobi"])
def test_a_folded_filter_is_not_scaled(basis):
    torch.manual_seed(0)
    model = GNN("filter", 4, 8, 3, K=3, basis=basis).eval()
    edges = torch.tensor([[0, 1, 2, 2, 3], [1, 2, 0, 3, 0]])  # directed: it could not be scaled
    x = torch.randn(4, 4)
    torch.testing.assert_close(fold(model)(x, edges), model(x, edges))
