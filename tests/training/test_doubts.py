"""What speaks against a result is said."""

import pytest

from pgso.data import load_task
from pgso.records import RunRecord, RunSpec
from pgso.training.baselines import Baseline
from pgso.training.doubts import doubts

MUST_BEAT = (
    Baseline("guess", "most frequent class", 0.5, 0.6),
    Baseline("features", "logistic regression", 0.7, 0.7),
    Baseline("graph", "neighbours' labels", 0.7, 0.8),
)


def said(test, metric="accuracy", epoch=3, **choices):
    task = load_task("customers", size=400)
    spec = RunSpec(dataset="customers", epochs=20, **choices)
    record = RunRecord(
        spec=spec, status="done", metric=metric, val=test, test=test, epoch=epoch, start=(),
        parameters=(), nearest=(), curves={}, versions={}, timing={},
    )  # fmt: skip
    return " ".join(doubts({0: task}, {0: MUST_BEAT}, [record]))


@pytest.mark.parametrize(
    ("test", "words"),
    [
        (0.6, "every model predicts one class"),
        (0.55, "no network is better than guessing (60.0)"),
        (0.65, "a model without the graph does as well or better (70.0); try --set residual=true"),
        (0.75, "neighbours' labels without features do as well or better (80.0)"),
    ],
)
def test_what_a_network_does_not_beat_is_named(test, words):
    assert words in said(test)
    assert "than guessing" not in said(0.9)
    assert "as well" not in said(0.9)


def test_a_residual_network_is_not_told_to_be_one():
    assert "or better (70.0); try pgso find" in said(0.65, residual=True)


def test_a_run_that_was_still_rising_is_to_be_longer():
    assert "train longer with --epochs 80" in said(0.9, epoch=19)
    assert "longer" not in said(0.9, epoch=18)


def test_a_rare_class_is_named():
    assert "the class 'leaves' has 8 training examples: its scores are mostly luck" in said(0.9)
