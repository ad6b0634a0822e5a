"""Blocks of nodes and of graphs."""

import gc
import weakref
from dataclasses import replace

import pytest
import torch

from pgso import load_task
from pgso.data import Task
from pgso.finding.blocks import Blocks, Letter, Propagation, Word
from pgso.finding.columns import Preparation
from pgso.finding.problem import Problem
from pgso.finding.ridge import fit
from pgso.graph import Graph
from tests.finding.problems import components_of, generated, standardised

IN, OUT = Letter.of("mean", "in"), Letter.of("gcn", "out")
WORDS = [Word(), Word((IN,)), Word((IN, OUT)), Word((OUT, OUT, IN))]


@pytest.mark.parametrize("word", WORDS, ids=str)
def test_few_labels_and_many_give_the_same_features(word):
    problem = generated("nothing", directed=True)
    few = replace(problem, train=problem.train[:5])  # fewer than the eight columns
    blocks, by_rows = Blocks.of(problem), Blocks.of(few)
    actual, wanted = by_rows.block(word), blocks.block(word)
    left = actual.features * actual.size + actual.mean
    right = (wanted.features * wanted.size + wanted.mean)[:5]
    torch.testing.assert_close(left, right)
    assert bool(by_rows._rows)
    assert not blocks._rows


@pytest.mark.parametrize("sparse", [False, True])
def test_predictions_of_labels_are_fitted_values(sparse):
    problem = generated("nothing", directed=True)
    if sparse:
        problem = replace(problem, x=problem.x.to_sparse_csr(), train=problem.train[:6])
    blocks = Blocks.of(problem)
    parts = [blocks.block(word) for word in WORDS]
    ridge = fit(parts, problem.Y)
    values = ridge.intercept + sum(
        ((part.features * part.size + part.mean) @ weights).double()
        for part, weights in zip(parts, ridge.weights, strict=True)
    )
    predictions = blocks.predict(WORDS, ridge.weights, ridge.intercept)
    assert predictions.shape == (400, 3)
    torch.testing.assert_close(predictions[problem.train].double(), values, atol=1e-4, rtol=1e-4)


def graph_problem():
    generator = torch.Generator().manual_seed(0)
    problem = generated("nothing", nodes=60)
    sizes = torch.tensor([10, 20, 0, 30])
    return Problem.prepared(
        Task(
            name="graphs",
            kind="graph",
            metric="accuracy",
            graph=problem.graph,
            x=torch.rand(60, 2, generator=generator),
            y=torch.tensor([0, 1, 0, 1]),
            train=torch.arange(4),
            val=torch.arange(0),
            test=torch.arange(0),
            classes=("a", "b"),
            nodes_per_graph=sizes,
        )
    )


def test_graphs_are_pooled_by_sums_and_means():
    problem = graph_problem()
    block = Blocks.of(problem).block(Word())  # all graphs are labelled
    features = block.features * block.size + block.mean
    sums = torch.stack([part.sum(dim=0) for part in problem.x.split([10, 20, 0, 30])])
    means = sums / torch.tensor([10, 20, 1, 30]).unsqueeze(1)
    torch.testing.assert_close(features, standardised(torch.cat([sums, means], dim=1)))


def test_second_moments_are_products_with_x():
    problem = graph_problem()
    gcn = Letter.of("gcn")
    blocks = Blocks.of(problem)
    gamma_x = blocks.propagation.operator(gcn).times(problem.x)
    values = problem.x * gamma_x
    sums = torch.stack([part.sum(dim=0) for part in values.split([10, 20, 0, 30])])
    block = blocks.block(Word((gcn,), squared="x"))
    features = block.features * block.size + block.mean
    torch.testing.assert_close(features[:, :3], standardised(sums))
    own = blocks.block(Word((gcn,), squared="itself"))
    squares = gamma_x.square()
    sums = torch.stack([part.sum(dim=0) for part in squares.split([10, 20, 0, 30])])
    torch.testing.assert_close((own.features * own.size + own.mean)[:, :3], standardised(sums))


def test_graphs_of_a_task_are_predicted_one_by_one():
    problem = graph_problem()
    blocks = Blocks.of(problem)
    words = [Word(), Word((Letter.of("gcn"),))]
    ridge = fit([blocks.block(word) for word in words], problem.Y)
    assert blocks.predict(words, ridge.weights, ridge.intercept).shape == (4, 2)


def test_words_are_written_with_powers():
    gcn = Letter.of("gcn")
    assert str(Word()) == "x"
    assert str(Word((gcn, gcn))) == "gcn² x"
    assert str(Word((IN, OUT, OUT))) == "mean@in gcn@out² x"
    assert str(Word((gcn,), squared="x")) == "x ∘ gcn x"
    assert str(Word((gcn,), squared="itself")) == "(gcn x)²"


def test_rows_of_words_have_norm_1():
    x = torch.tensor([[3.0, 0, 4], [0, 0, 0], [0, 2, 0]]).to_sparse_csr()
    rows = Preparation.of(x)(x).to_dense()
    torch.testing.assert_close(rows, torch.tensor([[0.6, 0, 0.8], [0, 0, 0], [0, 1, 0]]))


@pytest.mark.parametrize("sparse", [False, True])
def test_principal_components_keep_what_varies(sparse):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(50, 3, generator=generator) @ torch.randn(3, 10, generator=generator)
    components = components_of(x.to_sparse_csr() if sparse else x, 3)
    unit = x / x.norm(dim=1, keepdim=True)
    centred = unit - unit.mean(dim=0) if sparse else standardised(x)
    torch.testing.assert_close(
        components @ components.t(), centred @ centred.t(), atol=1e-3, rtol=1e-3
    )


def test_embedded_categories_become_columns():
    task = replace(load_task("karate"), x=torch.zeros(34, 2).long(), categories=(2, 3))
    assert Problem.prepared(task).x.shape == (34, 6)  # and a column of ones


@pytest.mark.parametrize("edges", [[[0, 1, 1, 2], [1, 0, 2, 1]], [[0, 1], [1, 2]]])
def test_a_graph_that_find_has_seen_goes_when_nobody_holds_it(edges):
    gc.collect()
    gc.disable()  # what only a cycle holds would stay
    try:
        graph = Graph.from_edge_index(torch.tensor(edges))
        seen = weakref.ref(graph)
        Propagation(graph).operator(Letter.of("gcn"))
        del graph
        assert seen() is None
    finally:
        gc.enable()
