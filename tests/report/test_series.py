"""Curves over the seeds."""

from hypothesis import given
from hypothesis import strategies as st

from pgso.report.tables import curve_band, thinned
from tests.report.records import make_record


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
