"""A temperature fitted on validation, and how far confidence is from the truth."""

import numpy as np
import pytest
from scipy.special import softmax

from pgso.evaluation.scores import evaluation_of, fit_temperature


def too_sure(n, T, seed=0):
    """Logits that are T times as large as the classes' true log-odds."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, 3)) * 2
    y = np.array([rng.choice(3, p=row) for row in softmax(z, axis=1)])
    return T * z, y


def calibration(val, test):
    """Of a network with these logits and classes on validation and test."""
    sides = [{"val": v, "test": t} for v, t in zip(val, test, strict=True)]
    names = tuple("abc"[: test[0].shape[1]])
    return evaluation_of("class", *sides, names).calibration


@pytest.mark.parametrize("T", [0.5, 1.0, 3.0])
def test_the_temperature_of_overconfident_logits_is_found(T):
    data = too_sure(4000, T)
    assert calibration(data, data).temperature == pytest.approx(T, rel=0.06)


def test_calibration_makes_the_error_small_and_changes_no_answer():
    made = calibration(too_sure(2000, 4.0, seed=1), too_sure(2000, 4.0))
    assert made.error_before > 0.1
    assert made.error_after < 0.03
    assert sum(b.right for b in made.before) == sum(b.right for b in made.after)
    assert sum(b.size for b in made.before) == 2000


def test_few_labels_that_are_all_right_do_not_make_it_certain():
    data = np.array([[0.3, 0.0]] * 4), np.zeros(4, dtype=int)
    assert calibration(data, data).temperature > 0.3


@pytest.mark.parametrize("logits", [np.zeros((0, 2)), np.array([[np.nan, 0.0]])])
def test_without_numbers_it_stays_1(logits):
    test = np.array([[0.3, 0.0]] * 4), np.zeros(4, dtype=int)
    assert calibration((logits, np.zeros(len(logits), dtype=int)), test).temperature == 1.0


def test_of_factors_that_are_tried_the_first_best_is_taken():
    assert fit_temperature(lambda factor: abs(factor - 2), (0.0, 1.0, 3.0, 4.0)) == 1.0
