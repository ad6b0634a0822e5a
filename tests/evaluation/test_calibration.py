"""A temperature fitted on validation, and how far confidence is from the truth."""

import numpy as np
import pytest

from pgso.evaluation.scores import (
    binned,
    calibration_error,
    fit_temperature,
    probabilities,
)


def too_sure(n, T, seed=0):
    """Logits that are T times as large as the classes' true log-odds."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, 3)) * 2
    p = probabilities(z)
    y = np.array([rng.choice(3, p=row) for row in p])
    return T * z, y


@pytest.mark.parametrize("T", [0.5, 1.0, 3.0])
def test_the_temperature_of_overconfident_logits_is_found(T):
    logits, y = too_sure(4000, T)
    assert fit_temperature(logits, y) == pytest.approx(T, rel=0.06)


def test_calibration_makes_the_error_small_and_changes_no_answer():
    logits, y = too_sure(2000, 4.0)
    T = fit_temperature(*too_sure(2000, 4.0, seed=1))
    before, after = (
        binned(p.max(axis=1), p.argmax(axis=1) == y)
        for p in (probabilities(logits, t) for t in (1.0, T))
    )
    assert calibration_error(before) > 0.1
    assert calibration_error(after) < 0.03
    assert sum(b.right for b in before) == sum(b.right for b in after)
    assert sum(b.size for b in before) == 2000


def test_few_labels_that_are_all_right_do_not_make_it_certain():
    assert fit_temperature(np.array([[0.3, 0.0]] * 4), np.zeros(4, dtype=int)) > 0.3


@pytest.mark.parametrize("logits", [np.zeros((0, 2)), np.array([[np.nan, 0.0]])])
def test_without_numbers_it_stays_1(logits):
    assert fit_temperature(logits, np.zeros(len(logits), dtype=int)) == 1.0
