"""A graph in row blocks: loss and gradients of one process, for every layer."""

import pytest
import torch
from torch.nn import functional

import pgso
from pgso.errors import InputError
from pgso.scale.exchange import SharedBatchNorm, distribute
from pgso.scale.partition import Partition
from tests.scale.processes import run
from tests.scale.test_sampler import random_graph

MODELS = [
    {"conv": "gcn", "operator": "mpgso", "norm": "batch"},
    {"conv": "gin", "residual": True},
    {"conv": "gat", "heads": 2},
    {"conv": "sgc", "jk": "last"},
]


def setting(choices):
    torch.manual_seed(0)
    graph = random_graph(n=50, degree=4, weighted=True, loops=True)
    x, y = torch.randn(50, 6), torch.randint(0, 3, (50,))
    options = {"num_layers": 2, "preset": (0.3, 1.2, -0.4, 0.2, -0.6, -0.3, 0.7), **choices}
    conv = options.pop("conv")
    return pgso.GNN(conv, 6, 8, 3, dropout=0.0, **options), x, y, graph


def alone(choices):
    model, x, y, graph = setting(choices)
    loss = functional.cross_entropy(model(x, graph), y)
    loss.backward()
    return loss.item(), {k: p.grad for k, p in model.named_parameters()}, buffers(model)


def together(place, all_choices, sparse=False):
    collected = []
    for choices in all_choices:
        model, x, y, graph = setting(choices)
        part = Partition.of(graph, place.rank, place.num_ranks)
        own = slice(part.start, part.start + part.num_own)
        rows = x[own].to_sparse_csr() if sparse else x[own]
        logits = distribute(model, place.num_ranks)(rows, part)
        loss = functional.cross_entropy(logits, y[own], reduction="sum") / len(y)
        loss.backward()
        for parameter in model.parameters():
            torch.distributed.all_reduce(parameter.grad)
        gradients = {k: p.grad for k, p in model.named_parameters()}
        collected.append((place.total(loss.item()), gradients, buffers(model)))
    return collected


def buffers(model):
    return {k: v.float() for k, v in model.named_buffers()}


@pytest.mark.parametrize(("num_ranks", "sparse"), [(2, True), (3, False)])
def test_loss_and_gradients_are_those_of_one_process(num_ranks, sparse, tmp_path):
    expected = [alone(choices) for choices in MODELS]
    for result in run(num_ranks, together, MODELS, sparse, folder=tmp_path):
        assert not isinstance(result, Exception), result
        for mine, (loss, gradients, state) in zip(result, expected, strict=True):
            assert mine[0] == pytest.approx(loss, rel=1e-5)
            torch.testing.assert_close(mine[1], gradients, rtol=1e-5, atol=1e-5)
            torch.testing.assert_close(mine[2], state, rtol=1e-5, atol=1e-5)


def test_a_model_without_an_operator_is_refused():
    with pytest.raises(InputError, match="no operator"):
        distribute(torch.nn.Linear(2, 2), 2)


def test_an_operator_that_needs_the_whole_graph_is_refused():
    with pytest.raises(InputError, match="sample neighbours instead"):
        distribute(pgso.GCNConv(2, 2, pgso.PGSO("gcn", shape="structural")), 2)


@pytest.mark.parametrize("term", ["gcn@in", "gcn@out"])
def test_terms_that_need_the_edges_out_of_a_node_are_refused(term):
    with pytest.raises(InputError, match="need the edges out of every node"):
        distribute(pgso.GNN("bank", 4, 8, 3, terms=("self", term)), 2)


def test_on_an_ordinary_graph_nothing_changes():
    model, x, _, graph = setting(MODELS[0])
    expected = model.eval()(x, graph)
    assert torch.equal(distribute(model.eval(), 2)(x, graph), expected)
    assert any(isinstance(module, SharedBatchNorm) for module in model.modules())


def exchanges_of_steps(place):
    """How often processes exchange rows in each of three steps, and the losses."""
    from pgso.scale import exchange

    model, x, y, graph = setting({"conv": "gcn"})
    part = Partition.of(graph, place.rank, place.num_ranks)
    own = slice(part.start, part.start + part.num_own)
    rows, actual, counted = x[own].clone(), [], []
    real = exchange.dist.all_to_all_single
    exchange.dist.all_to_all_single = lambda *args: (counted.append(1), real(*args))
    distribute(model, place.num_ranks)
    for step in range(3):
        counted.clear()
        if step == 2:
            rows.mul_(2)
        loss = functional.cross_entropy(model(rows, part), y[own], reduction="sum") / len(y)
        loss.backward()
        with torch.no_grad():
            again = functional.cross_entropy(model(rows, part), y[own], reduction="sum") / len(y)
        actual.append((len(counted), place.total(loss.item()), place.total(again.item())))
    model(rows.requires_grad_(), part).sum().backward()
    assert rows.grad is not None  # what is kept of it as a constant does not count any more
    return actual


def test_rows_of_constant_features_are_fetched_once(tmp_path):
    model, x, y, graph = setting({"conv": "gcn"})
    once, twice = (functional.cross_entropy(model(each, graph), y).item() for each in (x, 2 * x))
    for actual in run(2, exchanges_of_steps, folder=tmp_path):
        assert [count for count, _, _ in actual] == [4, 3, 4]  # hidden rows: there, back, there
        for (_, loss, again), expected in zip(actual, (once, once, twice), strict=True):
            assert loss == again == pytest.approx(expected, rel=1e-5)
