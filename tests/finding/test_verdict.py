"""Verdicts in words."""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from torch_geometric.data import Data

import pgso
from pgso.errors import InputError
from pgso.finding.rungs import FAMILIES, Family
from pgso.finding.summary import told_of
from pgso.finding.verdict import verdict_of
from pgso.graph import Relations
from pgso.objectives import OBJECTIVES
from pgso.records.finding import GraphStatistics, RungRecord
from tests.registries import restored


def rung(name, family, terms, points):
    return RungRecord(
        name=name,
        family=family,
        terms=terms,
        blocks=("x",),
        scales=(1.0,),
        S=None,
        hops=1,
        penalty=1.0,
        loo_loss=0.5,
        loss=0.5,
        loo=0.5,
        val=0.5,
        test=0.5,
        points=points,
        seconds=0.1,
    )


def graph(homophily, num_edges=10):
    return GraphStatistics(
        num_graphs=1,
        num_nodes=10,
        num_edges=num_edges,
        is_directed=False,
        degree_median=1,
        degree_mean=1,
        degree_max=1,
        isolated=0,
        components=1,
        adjusted_homophily=homophily,
        num_features=3,
        num_labels=5,
        classes=(0.5, 0.5),
    )


REFERENCE = rung("gcn, 2 hops", "own", ("gcn",), -0.25)
CASES = {
    "features": (
        "no graph",
        ("self",),
        "features .accuracy 25.0 points higher than with GCN's.*cannot show that the graph adds",
    ),
    "banks": (
        "self + mean",
        ("self", "mean"),
        "weights of their own: self . mean .accuracy 25.0 points higher",
    ),
    "directions": ("in + out", ("self", "mean@in", "mean@out"), "give each its own weights"),
    "moments": ("moments", ("self", "gcn"), "How alike neighbours are"),
    "relations": ("per relation", ("self", "mean@a", "mean@b"), "Kinds of edges matter"),
    "learned": ("S learned", ("learned",), "A learned S"),
}


@pytest.mark.parametrize("family", CASES)
def test_a_family_has_its_sentence(family):
    name, terms, words = CASES[family]
    best = rung(name, family, terms, 0.0)
    assert re.search(
        words, verdict_of(best, REFERENCE, [best, REFERENCE], OBJECTIVES["accuracy"], graph(None))
    )


def test_a_gain_is_of_all_that_was_added_together():
    best = rung("self + mean, 1 hop + labels, 1 hop", "banks", ("self", "mean"), 0.0)
    best = best.model_copy(update={"adds": ("labels",)})
    said = verdict_of(best, REFERENCE, [best, REFERENCE], OBJECTIVES["accuracy"], graph(None))
    assert said.startswith("A node and its neighbours need weights of their own: self + mean. ")
    assert "Together: accuracy 25.0 points higher than with GCN's own operator on labels" in said
    assert said.count("25.0") == 1


def test_what_was_left_out_of_a_rung_is_not_in_its_sentence():
    one_way = rung("in + out", "directions", ("self", "mean@in"), 0.0)
    said = verdict_of(one_way, REFERENCE, [one_way, REFERENCE], OBJECTIVES["accuracy"], graph(None))
    assert said.startswith("Direction matters: follow the edges one way, self + mean@in")
    fields = {"blocks": ("mean x", "mean² x")}
    hops = rung("self + mean, 2 hops", "banks", ("mean",), 0.0).model_copy(update=fields)
    said = verdict_of(hops, REFERENCE, [hops, REFERENCE], OBJECTIVES["accuracy"], graph(None))
    assert said.startswith("Each hop needs weights of its own: mean x, mean² x (accuracy 25.0")


@pytest.mark.parametrize(
    ("preset", "words"),
    [
        ("adjacency", "sums instead of means"),
        ("laplacian", "Differences to the neighbours"),
        ("quarter", "other weights for hubs"),
    ],
)
def test_a_preset_has_its_reason(preset, words):
    best = rung(f"{preset}, 1 hop", "presets", (preset,), 0.0)
    assert words in verdict_of(
        best, REFERENCE, [best, REFERENCE], OBJECTIVES["accuracy"], graph(None)
    )


def test_neighbours_of_other_classes_are_named():
    best = rung("mean, 1 hop", "presets", ("mean",), 0.0)
    said = [
        verdict_of(best, REFERENCE, [best, REFERENCE], OBJECTIVES["accuracy"], graph(homophily))
        for homophily in (-0.3, -0.05, 0.3, None)
    ]
    assert said[0].startswith("Neighbours are of other classes, and help, without the node itself")
    assert all(text.startswith("Neighbours help, without the node itself") for text in said[1:])


def test_what_is_left_to_gain_is_said():
    best = rung("gcn, 2 hops", "own", ("gcn",), 0.0)
    other = rung("mean, 2 hops", "presets", ("mean",), 0.002)
    text = verdict_of(best, best, [best, other], OBJECTIVES["accuracy"], graph(None))
    assert "GCN's own operator is right" in text
    assert "mean, 2 hops: accuracy 0.2 points higher, which is not significant" in text
    worse = rung("mean, 2 hops", "presets", ("mean",), -0.1)
    assert "No other candidate" in verdict_of(
        best, best, [best, worse], OBJECTIVES["accuracy"], graph(None)
    )


def test_of_errors_lower_is_better():
    best = rung("gcn, 2 hops", "own", ("gcn",), 0.0)
    other = rung("mean, 2 hops", "presets", ("mean",), 0.5)
    text = verdict_of(best, best, [best, other], OBJECTIVES["rmse"], graph(None))
    assert "mean, 2 hops: RMSE 0.500 lower, which is not significant" in text


def test_a_difference_that_is_written_as_zero_is_none():
    best = rung("gcn, 2 hops", "own", ("gcn",), 0.0)
    other = rung("mean, 2 hops", "presets", ("mean",), 1e-5)
    assert "No other" in verdict_of(best, best, [best, other], OBJECTIVES["accuracy"], graph(None))


def test_neighbours_that_differ_are_not_called_alike():
    best = rung("gcn, 2 hops", "own", ("gcn",), 0.0).model_copy(update={"hops": 2})
    text = verdict_of(best, best, [best], OBJECTIVES["accuracy"], graph(-0.8))
    assert text.startswith("Neighbours differ, their neighbours are alike: GCN's own operator")
    alike = verdict_of(best, best, [best], OBJECTIVES["accuracy"], graph(0.8))
    assert alike.startswith("Neighbours are alike")
    graphs = graph(None).model_copy(update={"num_graphs": 10})
    text = verdict_of(best, best, [best], OBJECTIVES["accuracy"], graphs)
    assert text.startswith("What surrounds their nodes tells the graphs apart: GCN's own operator")


def test_a_difference_that_rounding_hides_is_not_said():
    best = rung("no graph", "features", ("self",), 0.0)
    own = rung("gcn, 2 hops", "own", ("gcn",), -0.0004)
    text = verdict_of(best, own, [best, own], OBJECTIVES["accuracy"], graph(None))
    assert "points" not in text
    assert "R² 0.0004" not in verdict_of(best, own, [best, own], OBJECTIVES["r2"], graph(None))


def test_a_graph_without_edges_is_said_to_have_none():
    best = rung("no graph", "features", ("self",), 0.0)
    text = verdict_of(best, best, [best], OBJECTIVES["accuracy"], graph(None, num_edges=0))
    assert text.startswith("The graph has no edges")


@pytest.mark.parametrize(
    ("objective", "words"),
    [
        ("accuracy", "accuracy 3.0 points higher"),
        ("roc_auc", "ROC-AUC 3.0 points higher"),
        ("r2", "R² 0.030 higher"),
        ("mae", "MAE 0.0300 lower"),
        ("rmse", "RMSE 0.0300 lower"),
    ],
)
def test_what_is_left_is_in_the_unit_of_the_objective(objective, words):
    best = rung("gcn, 2 hops", "own", ("gcn",), 0.0)
    other = rung("mean, 2 hops", "presets", ("mean",), 0.03)
    assert words in verdict_of(best, best, [best, other], OBJECTIVES[objective], graph(None))


def test_a_family_without_a_sentence_is_not_taken_for_a_bank():
    best = rung("quarter, thrice", "thrice", ("quarter",), 0.0)
    with restored(FAMILIES):
        FAMILIES.register("thrice")(Family(3, lambda search: iter(())))
        text = verdict_of(best, REFERENCE, [best, REFERENCE], OBJECTIVES["accuracy"], graph(None))
    assert text.startswith("The rung 'quarter, thrice' predicts best: x (accuracy 25.0 points")


def test_what_cannot_be_shown_is_said_with_the_number_of_labels():
    best = rung("no graph", "features", ("self",), 0.0)
    other = rung("self + mean, 2 hops", "banks", ("self", "mean"), 0.089)
    text = verdict_of(best, best, [best, other], OBJECTIVES["accuracy"], graph(0.1))
    assert text == (
        "Labels follow the features: we cannot show that the graph adds anything (best "
        "alternative, self + mean, 2 hops: accuracy 8.9 points higher, which is not significant "
        "with 5 labels), so the simplest stays, no graph."
    )


def test_direction_matters_only_where_it_was_shown():
    best = rung("in + out", "directions", ("self", "mean@in", "mean@out"), 0.0)
    others = [best, REFERENCE], OBJECTIVES["accuracy"], graph(None)
    assert "Direction matters" in verdict_of(best, REFERENCE, *others)
    text = verdict_of(best, REFERENCE, *others, direction=False)
    assert "cannot show that direction matters" in text
    assert "Direction matters" not in text


def test_a_hop_without_weight_is_not_next_door():
    fields = {"blocks": ("x", "mean² x"), "hops": 2}
    best = rung("self + mean, 2 hops", "banks", ("self", "mean"), 0.0).model_copy(update=fields)
    text = verdict_of(best, REFERENCE, [best, REFERENCE], OBJECTIVES["accuracy"], graph(None))
    assert text.startswith("The signal is two hops away, not next door: x, mean² x")


def customers(leak, seed=0, n=200, columns=6):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    x = rng.normal(size=(n, columns))
    x[:, 2] = leak(y, rng)
    edges = torch.from_numpy(rng.integers(0, n, (2, 3 * n)))
    data = Data(x=torch.from_numpy(x).float(), edge_index=edges, y=torch.from_numpy(y))
    return replace(
        pgso.Task.from_data(data, seed=0), columns=("a", "b", "is_fraud_confirmed", *"cde")
    )


LEAKS = {
    "the label": lambda y, rng: y,
    "its opposite": lambda y, rng: 1 - y,
    "a number that separates": lambda y, rng: 10 * y + rng.random(len(y)),
    "a few mistakes": lambda y, rng: np.where(np.arange(len(y)) % 100 == 7, 1 - y, y),
}


@pytest.mark.parametrize("leak", LEAKS)
def test_a_leak_is_said_before_the_verdict(leak):
    found = pgso.find(customers(LEAKS[leak]))
    assert found.record.leaks == ("is_fraud_confirmed",)
    assert found.verdict.startswith("`is_fraud_confirmed` alone predicts the label.")


def test_a_good_column_is_no_leak():
    honest = pgso.find(customers(lambda y, rng: np.where(rng.random(len(y)) < 0.9, y, 1 - y)))
    assert honest.record.leaks == ()
    assert not honest.verdict.startswith("`")


def test_a_number_under_another_name_is_a_leak():
    rng = np.random.default_rng(0)
    x, edges = rng.normal(size=(150, 300)), rng.integers(0, 150, (2, 300))
    x[:, 7] = np.exp(x[:, 3])
    found = pgso.find(edges, x, x[:, 3] * 5 + 1)
    assert found.record.leaks == ("column 3", "column 7")
    assert "`column 3`, `column 7`: each of them alone predicts the label." in found.verdict


def test_of_many_sparse_columns_the_one_that_leaks_is_named():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 200)
    words = (rng.random((200, 400)) < 0.03).astype(np.float32)
    words[:, 11] = y == 2
    words[:, 12] = y
    found = pgso.find(rng.integers(0, 200, (2, 500)), csr_array(words), y)
    assert found.record.leaks == ("column 12",)  # column 11 does not tell 0 from 1


def test_a_head_that_was_asked_for_is_not_called_better_without_evidence():
    rng = np.random.default_rng(0)
    data = rng.integers(0, 60, (2, 120)), rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    for head in ("blend", "boosted"):
        found = pgso.find(*data, head=head)
        assert found.best.head == head
        assert "as asked for, not shown to be better than the closed form" in found.verdict
        assert "by a linear operator" not in found.verdict


def test_a_head_that_there_is_not_is_refused_before_anything_is_fitted():
    told = []
    with pytest.raises(InputError, match="head"):
        pgso.find("karate", head="forest", tell=told.append)
    labels = torch.tensor([[0.0, 1.0], [1.0, 0.0]]).repeat(15, 1)
    edges = torch.stack([torch.arange(30), torch.arange(30).roll(1)])
    with pytest.raises(InputError, match="no trees are grown for several labels each"):
        pgso.find(edges, torch.eye(30), labels, head="boosted", tell=told.append)
    assert told == []


def test_homophily_of_a_few_edges_is_not_told():
    edges = torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]])
    problem = SimpleNamespace(graph=pgso.Graph.of(edges), judges=torch.arange(4))
    assert told_of(graph(-0.9), problem).adjusted_homophily is None
    long = torch.cat([edges + 4 * k for k in range(50)], dim=1)
    problem = SimpleNamespace(graph=pgso.Graph.of(long), judges=torch.arange(200))
    assert told_of(graph(-0.9), problem).adjusted_homophily == -0.9
    assert told_of(graph(None), problem).adjusted_homophily is None


def test_a_finding_of_relations_predicts_on_relations():
    rng = np.random.default_rng(0)
    kinds = {name: pgso.Graph.of(rng.integers(0, 60, (2, 200)), num_nodes=60) for name in "ab"}
    x = rng.normal(size=(60, 3)).astype(np.float32)
    signal = pgso.apply_pgso(torch.from_numpy(x), kinds["a"], "mean")[:, 0]
    found = pgso.find(Relations(kinds), x, signal, head="ridge")
    assert any(term.endswith("@a") for term in found.best.terms)
    torch.testing.assert_close(found.predict(Relations(kinds), x), found.predict())
