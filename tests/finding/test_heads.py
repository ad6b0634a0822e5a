"""Heads: the rung explains, the head predicts; each is taken on evidence only."""

import numpy as np
import pytest
import torch

import pgso
from pgso.errors import InputError
from pgso.finding import heads
from pgso.finding.heads import FEWEST_FOR_TREES, _least_squares, _likeliest
from pgso.finding.ladder import Ladder
from pgso.report.finding import headline
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
    assert "Trees on top, which see neighbours too, predict better" in found.verdict
    score = f"accuracy {100 * found.best.test:.1f} on test"
    assert headline(found.record) == f"Use boosted trees; no linear operator helps here: {score}"


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
    half = np.repeat([[1.0, 1.0], [1.0, 0.0]], 250, axis=0)  # all rows, and the first half of them
    weights = _likeliest(np.stack([bad, good], axis=1), half, pull=0.0)
    assert (weights[1] > 0.95).all()
    pulled = _likeliest(np.stack([good, good], axis=1), half, pull=0.1)
    assert (pulled[0] > 0.95).all()  # of equals, the kept one
    turned = np.where(half[:, 1:] > 0, np.stack([bad, good], 1), np.stack([good, bad], 1))
    assert _likeliest(turned, half, pull=0.0)[1, 1] > 0.95  # what a mask hides is not seen
    errors = rng.normal(size=(500, 1, 2))
    np.testing.assert_allclose(_least_squares(errors, half, 0.0), 0.5, atol=0.1)
    assert (_least_squares(errors, half, 1e6)[0] > 0.99).all()


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


@pytest.mark.parametrize("tails", [False, True])
def test_trees_do_not_read_labels_out_of_what_leaving_them_out_changes(tails):
    """Of a fit that says nothing, leave-one-out predictions are a function of the label itself."""
    rng = np.random.default_rng(3)
    y = rng.normal(size=700) * (rng.random(700) ** -0.8 if tails else 1)
    parts = {"train": np.arange(400), "val": np.arange(400, 500), "test": np.arange(500, 700)}
    found = pgso.find(rng.integers(0, 700, (2, 2000)), rng.normal(size=(700, 4)), y, **parts)
    assert found.best.head == "ridge"
    assert {head.name: head.p for head in found.record.heads}["boosted"] > 0.02


def test_trees_do_not_read_labels_out_of_rows_that_are_alike():
    # The prediction for a row without its label is lower for that label than its twins' are.
    rng = np.random.default_rng(0)
    group = rng.integers(0, 120, 1200)
    x, chances = np.eye(120)[group], rng.random((120, 3)) ** 2 + 0.3
    y = np.array([rng.choice(3, p=chances[g] / chances[g].sum()) for g in group])
    edges = rng.integers(0, 1200, (2, 2000))
    found = pgso.find(edges, x, y, train=range(600), val=range(600, 800), test=range(800, 1200))
    assert found.best.head != "boosted"
    assert found.best.loo == pytest.approx(found.best.test, abs=0.08)


def test_trees_see_the_means_of_neighbours_where_no_graph_is_kept():
    (edges, x, _), parts = exclusive_or(seed=1)
    sums, count = np.zeros_like(x), np.zeros(len(x))
    for source, target in np.concatenate([edges, edges[::-1]], axis=1).T:
        sums[target] += x[source]
        count[target] += 1
    mean = sums / np.maximum(count, 1)[:, None]
    found = pgso.find(edges, x, (x[:, 0] * mean[:, 1] > 0).astype(int), **parts)
    assert found.best.head == "boosted"
    assert found.best.test > 0.75


def test_a_blend_with_a_learned_S_is_judged_by_other_labels(monkeypatch):
    seen = []

    def judged(*given):
        seen.append(given[-1])
        return original(*given)

    original = heads._judged
    monkeypatch.setattr(heads, "_judged", judged)
    few = generated((GCN, GCN), labels=240, val=60)
    pgso.find(few.graph, few.raw, few.y, train=few.train, val=few.val, head="blend")
    assert seen[-1].sum() == 240 + 60 - 120


def test_the_pull_of_a_blend_is_chosen_by_labels_it_did_not_see():
    problem = generated("nothing", labels=200, val=100)
    generator = torch.Generator().manual_seed(0)
    kept = torch.zeros(300, len(problem.classes)).double()
    others = [torch.randn(kept.shape, generator=generator).double() for _ in range(20)]
    every = np.ones(300, dtype=bool)
    free, _ = heads.mixed(problem, [kept, *others], (0.0,), every)
    chosen, _ = heads.mixed(problem, [kept, *others], heads.PULLS, every)
    assert chosen[0] > free[0]  # noise is left out


@pytest.mark.parametrize("labels", ["many classes", "one of a kind"])
def test_classes_that_are_rare_are_boosted_too(labels):
    rng = np.random.default_rng(0)
    classes = np.repeat(np.arange(60), 8) if labels == "many classes" else np.arange(480) // 479
    edges = rng.integers(0, 480, (2, 1000))
    found = pgso.find(edges, rng.normal(size=(480, 4)), rng.permutation(classes))
    assert "boosted" in [head.name for head in found.record.heads]
    assert found.record.signal == "neither"
    assert found.predict().isfinite().all()


def test_trees_that_are_asked_for_are_grown_on_a_handful_of_labels():
    rng = np.random.default_rng(0)
    found = pgso.find(
        np.zeros((2, 0), int), rng.normal(size=(4, 2)), rng.normal(size=4), head="boosted"
    )
    assert found.best.head == "boosted"
    assert found.predict().isfinite().all()


def test_a_search_takes_one_thread_and_gives_the_others_back(monkeypatch):
    seen = []
    real = Ladder._step
    monkeypatch.setattr(
        Ladder, "_step", lambda *a: (seen.append(torch.get_num_threads()), real(*a))[1]
    )
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        pgso.find("karate")
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert set(seen) == {1}
