"""Counts and curves of a run at its chosen epoch."""

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.metrics import roc_auc_score

import pgso
from pgso.evaluation.scores import (
    GRID,
    detection,
    evaluation_of,
)


def test_curves_are_what_counting_at_every_threshold_gives():
    rng = np.random.default_rng(0)
    y = rng.random(500) < 0.3
    scores = np.round(rng.normal(size=500) + y, 1)  # with ties
    curves = detection(scores, y, "yes")
    flagged = [scores >= threshold for threshold in sorted(set(scores), reverse=True)]
    recall, false = (np.array([0] + [at[of].mean() for at in flagged]) for of in (y, ~y))
    precision = np.array([y[at].mean() for at in flagged])
    assert np.allclose(curves.recall, np.interp(GRID, false, recall), atol=1e-5)
    assert np.trapezoid(curves.recall, GRID) == pytest.approx(roc_auc_score(y, scores), abs=2e-3)
    wanted = [precision[recall[1:] >= least - 1e-12].max() for least in GRID]
    assert np.allclose(curves.precision, wanted, atol=1e-5)
    assert curves.precision[-1] >= curves.share == pytest.approx(y.mean())
    share = np.array([0] + [at.mean() for at in flagged])
    lift = np.interp(GRID[1:], share, recall) / GRID[1:]
    assert np.allclose(curves.lift, lift, atol=1e-5)


def test_lift_is_how_many_more_of_the_class_stand_among_the_first():
    y = np.array([True] * 20 + [False] * 80)
    perfect = detection(y + 0.0, y, "yes").lift
    assert perfect[:10] == (5.0,) * 10  # all of the first fifth
    assert perfect[-1] == 1
    assert perfect[24] == 2  # twenty of fifty, where ten are expected
    assert detection(np.zeros(100), y, "yes").lift == (1.0,) * 50  # no order, no lift


def test_a_threshold_follows_from_what_a_miss_costs():
    rng = np.random.default_rng(0)
    p = rng.random(20_000)
    logits = np.stack([np.zeros_like(p), np.log(p / (1 - p))], axis=1)
    y = (rng.random(20_000) < p).astype(int)
    evaluation = evaluation_of("class", dict.fromkeys(("val", "test"), logits),
                               dict.fromkeys(("val", "test"), y), ("no", "yes"))  # fmt: skip
    tried = np.linspace(0.01, 0.99, 99)
    for found in evaluation.detection.costs:
        cost = [
            found.cost * ((p <= t) & (y == 1)).sum() + ((p > t) & (y == 0)).sum() for t in tried
        ]
        assert found.threshold == pytest.approx(tried[np.argmin(cost)], abs=0.06)
        flagged = p > found.threshold
        assert found.recall == pytest.approx(flagged[y == 1].mean(), abs=0.01)
        assert found.precision == pytest.approx(y[flagged].mean(), abs=0.01)


def test_one_class_alone_has_no_curves():
    assert detection(np.array([1.0, 2.0]), np.array([True, True]), "yes") is None


def test_confusion_and_calibration_are_of_the_part_and_temperature_of_validation():
    rng = np.random.default_rng(1)
    logits = {part: rng.normal(size=(40, 3)) for part in ("val", "test")}
    y = {part: rng.integers(0, 3, 40) for part in ("val", "test")}
    actual = evaluation_of("class", logits, y, ("a", "b", "c"))
    said = logits["test"].argmax(axis=1)
    wanted = [[((y["test"] == row) & (said == column)).sum() for column in range(3)]
              for row in range(3)]  # fmt: skip
    assert np.array_equal(actual.confusion.counts, wanted)
    assert actual.detection.positive == "a class, mean of 3 classes"
    p = softmax(logits["test"], axis=1)
    wanted = roc_auc_score(y["test"], p, multi_class="ovr")
    assert np.trapezoid(actual.detection.recall, GRID) == pytest.approx(wanted, abs=0.01)
    other = evaluation_of("class", logits | {"test": logits["val"]}, y, ("a", "b", "c"))
    assert other.calibration.temperature == actual.calibration.temperature


def test_labels_are_scored_one_by_one_where_they_are_known():
    rng = np.random.default_rng(2)
    y = {part: rng.integers(0, 2, (80, 3)).astype(float) for part in ("val", "test")}
    y["test"][:30, 1] = np.nan
    y["test"][:, 2] = 0  # nobody has it
    logits = {part: 3 * (np.nan_to_num(y[part]) + rng.normal(size=(80, 3))) for part in y}
    found = evaluation_of("labels", logits, y, ("red", "blue", "none"))
    red, blue, none = found.labels
    assert (red.examples, blue.examples, none.positives) == (80, 50, 0)
    assert red.roc_auc == pytest.approx(roc_auc_score(y["test"][:, 0], logits["test"][:, 0]))
    wanted = roc_auc_score(y["test"][30:, 1], logits["test"][30:, 1])
    assert blue.roc_auc == pytest.approx(wanted)
    assert none.roc_auc is None
    assert found.detection.positive == "a label, mean of 2 labels"
    mean = (red.roc_auc + blue.roc_auc) / 2
    assert np.trapezoid(found.detection.recall, GRID) == pytest.approx(mean, abs=0.01)
    cells = sum(entry.size for entry in found.calibration.before)
    assert cells == 80 + 50 + 80
    assert found.calibration.error_after < found.calibration.error_before


@pytest.mark.parametrize(
    ("dataset", "choices", "parts"),
    [
        ("karate", {}, {"confusion", "calibration", "detection"}),
        ("karate", {"task": "link"}, {"detection"}),
        ("diabetes", {}, {"scatter"}),
    ],
)
def test_every_kind_of_task_has_what_suits_it(dataset, choices, parts):
    record = pgso.fit(pgso.RunSpec(dataset=dataset, epochs=3, hidden_channels=8, **choices))
    actual = record.evaluation
    assert {name for name in ("confusion", "calibration", "detection", "scatter")
            if getattr(actual, name)} == parts  # fmt: skip
    assert actual.part == "test"
    if "confusion" in parts:
        right = np.trace(actual.confusion.counts) / actual.examples
        assert right == pytest.approx(record.test)
    if "scatter" in parts:
        (panel,) = actual.scatter
        error = np.sqrt(np.mean((np.array(panel.truth) - panel.predicted) ** 2))
        assert error == pytest.approx(record.test, rel=1e-3)


def test_the_interval_at_the_start_is_that_of_the_fixed_operator():
    spec = pgso.RunSpec(dataset="karate", epochs=2, hidden_channels=4)
    fixed, learned = (pgso.fit(spec.but(operator=name)) for name in ("fixed", "mpgso"))
    assert learned.start_interval == (fixed.start_interval[0],) * 2
    assert list(fixed.start_interval[0]) == pytest.approx(list(fixed.curves["interval"][-1][0]))
    none = pgso.fit(spec.but(shape="node"))
    assert none.start_interval == ()
