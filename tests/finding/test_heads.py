"""Heads: the rung explains, the head predicts; each is taken on evidence only."""

import numpy as np
import pytest
import torch

import pgso
from pgso.errors import InputError
from pgso.finding.heads import FEWEST_FOR_TREES, _least_squares, _likeliest
from tests.finding.problems import GCN, generated


def exclusive_or(n=1200, seed=0):
    """Labels that no linear operator sees: the product of two columns' signs."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4))
    y = (x[:, 0] * x[:, 1] > 0).astype(int)
    edges = rng.integers(0, n, (2, 3 * n))
    order = rng.permutation(n)
    parts = {
        "train": order[: n // 2],
        "val": order[n // 2 : 3 * n // 4],
        "test": order[3 * n // 4 :],
    }
    return (edges, x, y), parts


@pytest.fixture(scope="module")
def trees():
    data, parts = exclusive_or()
    return pgso.find(*data, **parts), parts, data[2]


def test_trees_are_taken_where_they_see_more(trees):
    found = trees[0]
    assert found.best.head == "boosted"
    own = found.record.rung(found.best.name)
    assert found.best.test > 0.9 > 0.7 > own.test
    assert "by a linear operator: none is better than the most frequent class" in found.verdict
    assert "Trees on top predict better than the closed form" in found.verdict


def test_scores_of_the_best_are_of_what_predict_returns(trees):
    found, parts, y = trees
    said = found.predict().argmax(dim=1).numpy()
    assert found.best.test == pytest.approx((said == y)[parts["test"]].mean())
    assert found.best.val != found.record.rung(found.best.name).val


def test_what_trees_say_on_the_same_graph_again_is_what_they_said(trees):
    found, parts, _ = trees
    (edges, x, _), _ = exclusive_or()
    again = found.predict(torch.from_numpy(edges), x).argmax(dim=1).numpy()
    test = parts["test"]
    assert (again == found.predict().argmax(dim=1).numpy())[test].mean() > 0.97


def test_trees_wait_for_enough_labels_and_for_evidence():
    linear = generated((), nodes=900, labels=400, val=200)
    parts = {name: getattr(linear, name) for name in ("train", "val", "test")}
    found = pgso.find(linear.graph, linear.raw, linear.y, **parts)
    assert found.best.head != "boosted"
    assert "boosted" in [head.name for head in found.record.heads]  # tried, and not taken
    few = generated((GCN, GCN), labels=150, val=100)
    assert len(few.train) + len(few.val) < FEWEST_FOR_TREES
    found = pgso.find(few.graph, few.raw, few.y, train=few.train, val=few.val)
    assert "boosted" not in [head.name for head in found.record.heads]


@pytest.mark.parametrize("head", ["ridge", "blend", "boosted"])
def test_a_head_that_is_asked_for_is_taken(head):
    found = pgso.find("karate", head=head)
    assert found.best.head == head
    assert found.predict().isfinite().all()


def test_an_unknown_head_is_refused():
    with pytest.raises(InputError, match="no head is called 'forest'"):
        pgso.find("karate", head="forest")


def test_a_blend_is_kept_only_if_it_is_not_worse():
    found = pgso.find("customers")
    heads = {head.name: head for head in found.record.heads}
    if found.best.head == "blend":
        assert heads["blend"].loss <= heads["ridge"].loss
    assert sum(heads["blend"].weights.values()) == pytest.approx(1, abs=1e-3)
    assert min(heads["blend"].weights.values()) > 0


def test_the_weights_of_a_blend_are_those_that_made_the_labels():
    rng = np.random.default_rng(0)
    good, bad = rng.uniform(0.6, 0.9, 500), rng.uniform(0.1, 0.4, 500)
    weights = _likeliest(np.stack([bad, good], axis=1), pull=0.0)
    assert weights[1] > 0.95
    pulled = _likeliest(np.stack([good, good], axis=1), pull=50.0)
    assert pulled[0] > 0.95  # of equals, the kept one
    truth = rng.normal(size=500)
    guesses = truth[:, None] + rng.normal(size=(500, 2))
    np.testing.assert_allclose(_least_squares(guesses - truth[:, None], 0.0), 0.5, atol=0.1)


def test_numbers_are_boosted_too():
    rng = np.random.default_rng(1)
    n = 900
    x = rng.normal(size=(n, 3))
    y = x[:, 0] * x[:, 1] + 0.1 * rng.normal(size=n)
    parts = {"train": np.arange(500), "val": np.arange(500, 700), "test": np.arange(700, n)}
    found = pgso.find(rng.integers(0, n, (2, 2 * n)), x, y, **parts)
    assert found.best.head == "boosted"
    assert found.best.test > 0.6
    assert found.predict().shape == (n, 1)
