"""``find``: whatever users hand over, and what they get."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse
import torch
from torch_geometric.data import Data

import pgso
from pgso.errors import InputError
from pgso.finding import find
from tests.finding.problems import GCN, generated


@pytest.fixture(scope="module")
def problem():
    return generated((GCN, GCN), nodes=200, labels=80, val=50)


@pytest.fixture(scope="module")
def found(problem):
    return find(problem.graph, problem.x, problem.y, train=problem.train, val=problem.val)


def test_it_has_what_the_design_promises(found):
    best = found.best
    assert best.name == "gcn, 2 hops"
    assert best.terms == ("gcn",)
    assert pgso.PRESETS["gcn"].as_floats() == best.S
    assert best in found.rungs
    assert 0.5 < best.loo <= 1
    assert 0.5 < best.val <= 1
    assert best.test is None
    assert best.seconds > 0
    assert "GCN's own operator is right" in found.verdict
    assert repr(found).startswith("Finding(in memory: gcn, 2 hops")


def test_predictions_are_probabilities_of_every_node(found, problem):
    probabilities = found.predict()
    assert probabilities.shape == (200, 3)
    torch.testing.assert_close(probabilities.sum(dim=1), torch.ones(200))
    right = (probabilities.argmax(dim=1) == problem.y)[problem.test].double().mean()
    assert right > 0.6


def test_the_same_graph_in_any_form_gives_the_same_finding(found, problem):
    edges, n = problem.graph.edge_index, problem.graph.num_nodes
    matrix = scipy.sparse.coo_array((np.ones(edges.size(1)), edges.flip(0).numpy()), (n, n))
    network = nx.from_scipy_sparse_array(matrix)
    mask = torch.zeros(n, dtype=torch.bool).index_fill(0, problem.train, True)
    val = torch.zeros(n, dtype=torch.bool).index_fill(0, problem.val, True)
    data = Data(x=problem.x, edge_index=edges, y=problem.y, train_mask=mask, val_mask=val)
    letters = np.array(["a", "b", "c"])[problem.y.numpy()]
    parts = {"train": problem.train.numpy(), "val": val.numpy()}
    findings = [
        find(matrix, problem.x.numpy(), problem.y.numpy(), **parts),
        find(network, scipy.sparse.csr_array(problem.x.numpy()).toarray(), letters, **parts),
        find(data),
    ]
    for other in findings:
        assert other.best.name == found.best.name
        assert other.best.loo == pytest.approx(found.best.loo)


def test_labels_without_a_part_train(problem):
    unknown = problem.y.clone()
    unknown[problem.test] = -1
    found = find(problem.graph, problem.x, unknown, val=problem.val)
    assert found.record.graph.num_labels == len(problem.train)


def test_numbers_are_regressed(problem):
    signal = pgso.apply_pgso(problem.x, problem.graph, "gcn")[:, 0] + 0.01
    found = find(problem.graph, problem.x, signal, train=problem.train, test=problem.test)
    assert found.record.metric == "r2"
    assert found.best.test > 0.9
    assert found.predict().shape == (200, 1)
    assert "gcn" in " ".join(found.best.terms)


def test_many_whole_numbers_are_regressed_and_few_are_classes(problem):
    years = 1900.0 + torch.arange(200.0)
    assert find(problem.graph, problem.x, years).record.metric == "r2"
    with_gaps = problem.y.double()
    with_gaps[:20] = float("nan")
    found = find(problem.graph, problem.x, with_gaps)
    assert (found.record.metric, found.record.graph.num_labels) == ("accuracy", 180)


def test_no_features_are_the_identity():
    club = nx.karate_club_graph()
    y = [club.nodes[member]["club"] for member in club]
    found = find(club, None, y)
    assert found.record.graph.num_features == 34
    assert found.best.loo > 0.8


def test_features_that_are_all_alike_are_no_error(problem):
    found = find(problem.graph, torch.ones(200, 2), problem.y, train=problem.train)
    assert found.predict().isfinite().all()


def test_graph_tasks_and_names_work_too():
    task = pgso.load_task("karate")
    assert find("karate").best.name == find(task).best.name


@pytest.mark.parametrize("rung", ["no graph", "gcn, 2 hops", "self + mean, 1 hop"])
def test_every_kind_of_rung_becomes_a_network(found, problem, rung):
    from pgso.finding.advice import code_of, command_of, spec_of

    record = found.record.rung(rung)
    spec = spec_of(record, "karate", 0, {})
    assert pgso.fit(spec.but(epochs=2)).status == "done"
    names = {"data": Data(x=problem.x, edge_index=problem.graph.edge_index)}
    exec(code_of(record, 8, 3, "node"), names)
    assert names["out"].shape == (200, 3)
    assert command_of(record, "karate").startswith("pgso compare karate")


def test_its_own_spec_and_code_are_those_of_the_best_rung(found):
    assert found.spec().operator == "fixed"
    assert found.spec().preset == "gcn"
    assert 'pgso.GNN("gcn", 8, 64, 3' in found.to_pyg()


X, Y = torch.eye(6), torch.tensor([0, 1, 0, 1, 0, 1])
EDGES = torch.tensor([[0, 1, 2, 3, 4], [1, 2, 3, 4, 5]])
WRONG = {
    "no labels": (lambda: find(EDGES, X), "find needs labels"),
    "one class": (lambda: find(EDGES, X, torch.zeros(6).long()), "one class"),
    "two labels": (lambda: find(EDGES, X, Y, train=[0, 1]), "three training labels"),
    "rows": (lambda: find(EDGES, X[:4], Y), "x has 4 rows, y has 6"),
    "overlap": (lambda: find(EDGES, X, Y, train=[0, 1, 2, 3], val=[3]), "must not overlap"),
    "index": (lambda: find(EDGES, X, Y, train=[0, 1, 9]), "outside 0 ... 5"),
    "mask": (lambda: find(EDGES, X, Y, train=[True, False]), "mask of shape"),
    "words": (lambda: find(EDGES, X, Y, train=["a"]), "node indices or a mask"),
    "unlabelled": (lambda: find(EDGES, X, [0, 1, 0, 1, 0, -1], train=[0, 1, 5]), "has no label"),
    "name": (lambda: find("no-such-graph"), "no dataset is called"),
    "option": (lambda: find(EDGES, X, Y, depth=3), "no option 'depth'"),
    "NaN": (lambda: find(EDGES, X * float("nan"), Y), "finite"),
}


@pytest.mark.parametrize("case", WRONG)
def test_bad_input_is_refused_in_one_sentence(case):
    call, message = WRONG[case]
    with pytest.raises(InputError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
