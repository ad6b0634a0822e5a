import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, ttest_rel

from pgso.evaluation import statistics
from pgso.evaluation.statistics import confidence_in_gain
from pgso.objectives import OBJECTIVES

ACCURACY, ROC_AUC = OBJECTIVES["accuracy"], OBJECTIVES["roc_auc"]


def scores_with(right: int, wrong: int, y: torch.Tensor) -> torch.Tensor:
    """Class scores that are right on the first ones and wrong on the next."""
    labels = y.clone()
    labels[right : right + wrong] = 1 - labels[right : right + wrong]
    return torch.eye(2)[labels]


def test_a_gain_far_above_chance_is_believed_and_a_small_one_is_not():
    y = torch.arange(500) % 2
    fixed = scores_with(300, 200, y)
    assert confidence_in_gain(ACCURACY, fixed, scores_with(400, 100, y), y) > 0.999
    assert 0.5 < confidence_in_gain(ACCURACY, fixed, scores_with(302, 198, y), y) < 0.975


@given(st.integers(1, 12), st.integers(0, 12))
def test_accuracies_are_compared_by_the_exact_sign_test(put_right, put_wrong):
    y = torch.arange(30) % 2
    before, after = y.clone(), y.clone()
    before[:put_right] = 1 - before[:put_right]
    after[30 - put_wrong :] = 1 - after[30 - put_wrong :]
    p = binomtest(put_right, put_right + put_wrong, alternative="greater").pvalue
    actual = confidence_in_gain(ACCURACY, torch.eye(2)[before], torch.eye(2)[after], y)
    assert actual == pytest.approx(1 - p, abs=1e-12)


def test_what_changes_nothing_is_no_gain():
    y = torch.arange(10) % 2
    assert confidence_in_gain(ACCURACY, torch.eye(2)[y], 2 * torch.eye(2)[y], y) == 0.0


def test_the_same_gain_counts_more_on_more_examples():
    collected = []
    for n in (20, 2000):
        y = torch.arange(n) % 2
        fixed, learned = scores_with(n // 2, n // 2, y), scores_with(n * 11 // 20, n * 9 // 20, y)
        collected.append(confidence_in_gain(ACCURACY, fixed, learned, y))
    assert collected[0] < 0.975 < collected[1]


@given(st.integers(0, 2**32 - 1))
def test_confidence_in_the_one_and_in_the_other_add_up_to_one(seed):
    rng = torch.Generator().manual_seed(seed)
    y = torch.arange(30) % 2
    one, other = torch.randn(2, 30, 2, generator=rng)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(statistics, "ROUNDS", 100)  # it holds in every single round
        there = confidence_in_gain(ROC_AUC, one, other, y)
        back = confidence_in_gain(ROC_AUC, other, one, y)
    assert abs(there + back - 1) < 1e-9


def test_where_the_metric_is_not_defined_nothing_is_believed():
    y = torch.zeros(5, dtype=torch.long)
    assert confidence_in_gain(ROC_AUC, torch.zeros(5, 2), torch.eye(2)[y], y) == 0.0


@given(st.integers(0, 2**32 - 1), st.sampled_from(["rmse", "mae", "r2"]))
def test_errors_of_numbers_are_compared_by_the_paired_t_test(seed, name):
    rng = torch.Generator().manual_seed(seed)
    y, one, other = torch.randn(3, 25, 1, generator=rng)
    error = (lambda out: (out - y).abs()) if name == "mae" else (lambda out: (out - y).square())
    p = ttest_rel(error(one), error(other), alternative="greater").pvalue.item()
    actual = confidence_in_gain(OBJECTIVES[name], one, other, y)
    assert actual == pytest.approx(1 - p, abs=1e-5)
    back = confidence_in_gain(OBJECTIVES[name], other, one, y)
    assert actual + back == pytest.approx(1, abs=1e-9)


def test_links_that_move_up_are_believed_by_the_bootstrap():
    rng = torch.Generator().manual_seed(0)
    before = torch.randn(60, 5, generator=rng)
    after = before + 3 * torch.eye(5)[0]
    y = torch.zeros(60, dtype=torch.long)
    for name in ("link_auc", "link_mrr"):
        assert confidence_in_gain(OBJECTIVES[name], before, after, y) > 0.99
        assert confidence_in_gain(OBJECTIVES[name], after, before, y) < 0.01
