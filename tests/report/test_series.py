"""Curves over the seeds, and what was learned."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgso.report.series import (
    curve_band,
    learned_operators,
    thinned,
)
from tests.report.records import GCN, MOVED, THREE, make_record, make_runs


@given(st.lists(st.lists(st.integers(-9, 9).map(float), min_size=1, max_size=6), min_size=1))
def test_the_mean_lies_in_the_band(curves):
    runs = [make_record("pgso", 0, 0.5, curves={"loss": curve}) for curve in curves]
    actual = curve_band(runs, "loss")
    assert [epoch for epoch, *_ in actual] == list(range(1, max(map(len, curves)) + 1))
    assert all(low <= mean <= high for _, mean, low, high in actual)


def test_what_is_not_a_number_is_not_drawn():
    runs = [make_record("pgso", 0, 0.5, curves={"loss": [1.0, float("nan"), None, float("inf")]})]
    assert curve_band(runs, "loss") == [(1, 1.0, 1.0, 1.0)]
    assert curve_band(runs, "train") == []


def test_a_thinned_record_keeps_its_epochs():
    run = make_record("pgso", 0, 0.5, curves={"epoch": [0, 9, 19], "val": [0.1, 0.2, 0.3]})
    assert [epoch for epoch, *_ in curve_band([run], "val")] == [1, 10, 20]


@given(count=st.integers(0, 3000), at_most=st.integers(2, 300), keep=st.integers(0, 3000))
def test_thinning_keeps_both_ends_and_what_is_asked_for(count, at_most, keep):
    actual = thinned(count, at_most, [keep])
    assert actual == sorted(set(actual))
    assert len(actual) <= at_most + 1
    assert {0, count - 1, keep} & set(range(count)) <= set(actual)


def test_each_operator_of_each_mode_is_there_beside_its_start():
    actual = learned_operators(make_runs(THREE))
    assert [entry.name for entry in actual] == ["PGSO", "mPGSO, layer 1", "mPGSO, layer 2"]
    for entry in actual:
        assert entry.start == pytest.approx(GCN)
        assert entry.mean == pytest.approx(MOVED)
        assert (entry.nearest, entry.nearest_count, entry.n) == ("gcn", 4, 4)


def test_the_interval_at_the_start_comes_from_the_record():
    entry = learned_operators(make_runs(THREE))[0]
    assert entry.interval_start == (-1.0, 1.0)
    assert entry.interval_learned == (-2.0, 2.0)
    assert learned_operators(make_runs({"pgso": [0.5]}, directed=True))[0].interval_start is None


def test_the_nearest_operator_is_the_one_of_most_seeds():
    nearest = ["gcn", "mean", "mean"]
    runs = [
        make_record("pgso", seed, 0.5, nearest=((name, 0.1 * seed),))
        for seed, name in enumerate(nearest)
    ]
    entry = learned_operators(runs)[0]
    assert (entry.nearest, entry.nearest_count) == ("mean", 2)
    assert entry.nearest_distance == pytest.approx(0.15)


def test_under_auto_the_seeds_are_kept_apart_by_what_they_chose():
    runs = [
        make_record("auto", seed, 0.5, chosen=chosen)
        for seed, chosen in enumerate(["fixed", "pgso", "pgso"])
    ]
    assert [(entry.name, entry.n) for entry in learned_operators(runs)] == [("auto (PGSO)", 2)]


def test_seeds_with_networks_of_different_rungs_are_kept_apart():
    both = {
        "rung": "gcn in + out, 1 hop",
        "network": {"terms": ["gcn@in", "gcn@out"], "conv": "bank"},
        "start": (GCN,) * 2,
        "parameters": (MOVED, GCN),
        "nearest": (("gcn", 0.1),) * 2,
    }
    runs = [
        make_record("auto", 0, 0.5, chosen="pgso", directed=True, **both),
        make_record("auto", 1, 0.5, chosen="pgso", directed=True),
    ]
    entries = learned_operators(runs)
    assert [(entry.name, entry.n) for entry in entries] == [
        ("auto (PGSO) in gcn in + out, 1 hop, gcn@in", 1),
        ("auto (PGSO) in gcn in + out, 1 hop, gcn@out", 1),
        ("auto (PGSO)", 1),
    ]
    assert entries[1].mean == pytest.approx(GCN)
