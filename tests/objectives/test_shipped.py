"""Every objective against scikit-learn or its definition, and what all of them keep."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from pgso.errors import InputError
from pgso.objectives import OBJECTIVES
from pgso.objectives.objective import roc_auc

EXAMPLES = st.lists(st.tuples(st.integers(-3, 3), st.booleans()), min_size=1, max_size=30)
SEEDS = st.integers(0, 2**32 - 1)


def classes(seed, count=3, n=25):
    rng = np.random.default_rng(seed)
    return rng.integers(-3, 4, (n, count)).astype(np.float32), rng.integers(0, count, n)


def numbers(seed, targets=2, n=20, missing=0.2):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=(n, targets)) * 3 + 1
    y[1:][rng.random((n - 1, targets)) < missing] = np.nan
    return y + rng.normal(size=y.shape), np.where(np.isnan(y), np.nan, y)


@given(EXAMPLES)
def test_the_area_is_scikit_learns_with_ties(examples):
    scores, positive = (np.array(column) for column in zip(*examples, strict=True))
    ours = roc_auc(scores / 4, positive)
    if len(set(positive)) < 2:
        assert ours is None
    else:
        assert ours == pytest.approx(metrics.roc_auc_score(positive, scores), abs=1e-12)


@given(SEEDS)
def test_scores_of_classes_are_scikit_learns(seed):
    out, y = classes(seed)
    chosen = out.argmax(1)
    for name, theirs in {
        "accuracy": metrics.accuracy_score(y, chosen),
        "balanced_accuracy": metrics.balanced_accuracy_score(y, chosen),
        "macro_f1": metrics.f1_score(y, chosen, average="macro"),
    }.items():
        assert OBJECTIVES[name].score(out, y) == pytest.approx(theirs, abs=1e-12)


@given(SEEDS)
def test_scores_of_two_classes_are_scikit_learns(seed):
    out, y = classes(seed, 2)
    y[:2] = 0, 1
    margin = (out[:, 1] - out[:, 0]).astype(float)
    for name, theirs in {
        "roc_auc": metrics.roc_auc_score(y, margin),
        "average_precision": metrics.average_precision_score(y, margin),
    }.items():
        assert OBJECTIVES[name].score(out, y) == pytest.approx(theirs, abs=1e-12)


@given(SEEDS)
def test_errors_of_numbers_are_scikit_learns_where_the_target_is_known(seed):
    out, y = numbers(seed)
    theirs = {"mae": metrics.mean_absolute_error, "r2": metrics.r2_score}
    theirs["rmse"] = metrics.root_mean_squared_error
    for name, score in theirs.items():
        columns = [(y[:, k], out[:, k], np.isfinite(y[:, k])) for k in range(2)]
        expected = np.mean([score(t[known], o[known]) for t, o, known in columns])
        assert OBJECTIVES[name].score(out, y) == pytest.approx(expected, abs=1e-9)


@given(SEEDS)
def test_labels_are_averaged_over_those_that_have_both_answers(seed):
    rng = np.random.default_rng(seed)
    out, y = rng.normal(size=(12, 3)), rng.integers(0, 2, (12, 3)).astype(float)
    y[:2, :2] = [[0, 0], [1, 1]]
    y[5, 0] = np.nan
    y[:, 2] = 1  # no example says no
    known = np.isfinite(y[:, 0])
    for name, score in {
        "multilabel_roc_auc": metrics.roc_auc_score,
        "multilabel_average_precision": metrics.average_precision_score,
    }.items():
        expected = (score(y[known, 0], out[known, 0]) + score(y[:, 1], out[:, 1])) / 2
        assert OBJECTIVES[name].score(out, y) == pytest.approx(expected)


def test_links_are_ranked_among_pairs_that_are_none():
    out = np.array([[3.0, 1.0, 2.0], [0.0, 1.0, -1.0], [5.0, 5.0, 5.0]])
    y = np.zeros(3, dtype=int)
    labels, scores = [1, 0] * 3, out[:, :2].ravel()
    assert OBJECTIVES["link_auc"].score(out, y) == metrics.roc_auc_score(labels, scores)
    ours = OBJECTIVES["link_average_precision"].score(out, y)
    assert ours == metrics.average_precision_score(labels, scores)
    assert OBJECTIVES["link_mrr"].score(out, y) == pytest.approx((1 + 1 / 2 + 1 / 2) / 3)
    assert OBJECTIVES["link_hits@10"].score(out, y) == 1.0  # there are six pairs that are none
    many = np.concatenate([out[:, :1], np.repeat([[4.0]], 3, 0), np.repeat([[1.0] * 4], 3, 0)], 1)
    assert OBJECTIVES["link_hits@10"].score(many, y) == pytest.approx(2 / 3)  # the tenth is 1.0


SHAPES = {"class": (8, 2), "labels": (8, 3), "value": (8, 2), "link": (8, 4)}


def example(objective, seed=0):
    """Outputs and answers of eight examples."""
    rng = torch.Generator().manual_seed(seed)
    out = torch.randn(SHAPES[objective.answer], generator=rng)
    if objective.answer == "class":
        return out, torch.arange(8) % 2
    if objective.answer == "link":
        return out, torch.zeros(8, dtype=torch.long)
    y = torch.randn(out.shape, generator=rng)
    y = (y > 0).float() if objective.answer == "labels" else y
    y[0] = torch.nan
    return out, y


@pytest.fixture(params=list(OBJECTIVES))
def objective(request):
    return OBJECTIVES[request.param]


def test_no_examples_have_no_score(objective):
    out, y = example(objective)
    assert objective.score(out[:0].numpy(), y[:0].numpy()) is None
    assert objective.merit(None) == -math.inf


def test_the_loss_has_a_gradient_and_what_is_unknown_teaches_nothing(objective):
    out, y = example(objective)
    out.requires_grad_()
    objective.loss(out, y).backward()
    assert out.grad.isfinite().all()
    assert out.grad.abs().sum() > 0
    if y.is_floating_point():
        assert (out.grad[0] == 0).all()


def test_a_perfect_answer_is_better_than_a_random_one(objective):
    out, y = example(objective)
    perfect = {
        "class": lambda: torch.eye(2)[y],
        "labels": lambda: y.nan_to_num(),
        "value": lambda: y.nan_to_num(),
        "link": lambda: torch.eye(4)[y],
    }[objective.answer]()
    ideal = objective.score(perfect.numpy(), y.numpy())
    assert ideal in objective.bounds
    noise = objective.score(out.numpy(), y.numpy())
    few = getattr(objective, "k", 0) > out[:, 1:].numel()  # pairs that are none: all are hits
    assert few or objective.merit(ideal) > objective.merit(noise)


def test_a_step_against_the_gradient_lowers_the_loss(objective):
    out, y = example(objective, seed=3)
    out.requires_grad_()
    before = objective.loss(out, y)
    (gradient,) = torch.autograd.grad(before, out)
    assert objective.loss(out - 0.01 * gradient, y) < before


def test_class_weights_let_every_class_count_the_same():
    y = torch.tensor([0, 0, 0, 1])
    weight = OBJECTIVES["accuracy"].class_weight(y)
    torch.testing.assert_close(weight, torch.tensor([2 / 3, 2.0]))
    torch.testing.assert_close(weight[y].sum(), torch.tensor(4.0))
    loss = OBJECTIVES["accuracy"].loss(torch.zeros(4, 2), y, weight)
    torch.testing.assert_close(loss, torch.tensor(2.0).log())
    labels = torch.tensor([[1.0, 0.0], [0.0, 0.0], [0.0, float("nan")]])
    weight = OBJECTIVES["multilabel_roc_auc"].class_weight(labels)
    assert weight.tolist() == [2.0, 2.0]
    with pytest.raises(InputError, match="rmse is not about classes"):
        OBJECTIVES["rmse"].class_weight(y)


def test_a_rare_class_is_pointed_out_and_average_precision_offered():
    y = np.array([0] * 95 + [1] * 5)
    advice = OBJECTIVES["accuracy"].advice(y, ("well", "ill"))
    assert "only 5.0 % of the training examples are 'ill'" in advice
    assert "--objective average_precision" in advice
    assert OBJECTIVES["accuracy"].advice(y[80:], ("well", "ill")) is None
    assert OBJECTIVES["average_precision"].advice(y, ("well", "ill")) is None


def test_a_constant_target_has_no_R2():
    y = np.full((50, 1), 0.1)
    varied = np.concatenate([y, np.arange(50.0)[:, None]], axis=1)
    r2 = OBJECTIVES["r2"]
    assert r2.score(y + 0.01, y) is None
    assert r2.score(y, y) is None
    assert r2.score(varied + 0.5, varied) == r2.score(varied[:, 1:] + 0.5, varied[:, 1:])
    assert OBJECTIVES["r2"].errors(y + 0.01, y).max() < 1
