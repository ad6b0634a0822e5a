"""Verdicts in words."""

import re

import pytest

from pgso.finding.verdict import verdict_of
from pgso.objectives import OBJECTIVES
from pgso.records.finding import RungRecord


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


REFERENCE = rung("gcn, 2 hops", "own", ("gcn",), -0.25)
CASES = {
    "features": (
        "no graph",
        ("self",),
        "the graph adds nothing here .accuracy 25.0 points higher than with GCN's",
    ),
    "banks": (
        "self + mean",
        ("self", "mean"),
        "weights of their own: self . mean .accuracy 25.0 points higher",
    ),
    "directions": ("in + out", ("self", "mean@in", "mean@out"), "Direction matters"),
    "moments": ("moments", ("self", "gcn"), "How alike neighbours are"),
    "learned": ("S learned", ("learned",), "A learned S"),
}


@pytest.mark.parametrize("family", CASES)
def test_a_family_has_its_sentence(family):
    name, terms, words = CASES[family]
    best = rung(name, family, terms, 0.0)
    assert re.search(words, verdict_of(best, REFERENCE, [best, REFERENCE], OBJECTIVES["accuracy"]))


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
    assert words in verdict_of(best, REFERENCE, [best, REFERENCE], OBJECTIVES["accuracy"])


def test_what_is_left_to_gain_is_said():
    best = rung("gcn, 2 hops", "own", ("gcn",), 0.0)
    other = rung("mean, 2 hops", "presets", ("mean",), 0.002)
    text = verdict_of(best, best, [best, other], OBJECTIVES["accuracy"])
    assert "GCN's own operator is right" in text
    assert "mean, 2 hops: accuracy 0.2 points higher, which is not significant" in text
    worse = rung("mean, 2 hops", "presets", ("mean",), -0.1)
    assert "No other operator" in verdict_of(best, best, [best, worse], OBJECTIVES["accuracy"])


def test_of_errors_lower_is_better():
    best = rung("gcn, 2 hops", "own", ("gcn",), 0.0)
    other = rung("mean, 2 hops", "presets", ("mean",), 0.5)
    text = verdict_of(best, best, [best, other], OBJECTIVES["rmse"])
    assert "mean, 2 hops: RMSE 0.500 lower, which is not significant" in text


def test_a_difference_that_is_written_as_zero_is_none():
    best = rung("gcn, 2 hops", "own", ("gcn",), 0.0)
    other = rung("mean, 2 hops", "presets", ("mean",), 1e-5)
    assert "No other" in verdict_of(best, best, [best, other], OBJECTIVES["accuracy"])
