import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgso.report.series import band, curve_band, interval_bands, parameter_bands, thinned
from tests.report.records import GCN, MOVED, make_record, make_runs


@given(st.lists(st.lists(st.integers(-9, 9).map(float), min_size=1, max_size=6), min_size=1))
def test_the_mean_lies_in_the_band(curves):
    actual = band([enumerate(curve, start=1) for curve in curves])
    assert len(actual.epochs) == max(map(len, curves))
    for low, mean, high in zip(actual.low, actual.mean, actual.high, strict=True):
        assert low <= mean <= high


def test_what_is_not_a_number_is_not_drawn():
    runs = [make_record("pgso", 0, 0.5, curves={"loss": [1.0, float("nan"), None, float("inf")]})]
    assert curve_band(runs, "loss").epochs == (1,)
    assert curve_band(runs, "train") is None


def test_a_thinned_record_keeps_its_epochs():
    run = make_record("pgso", 0, 0.5, curves={"epoch": [0, 9, 19], "val": [0.1, 0.2, 0.3]})
    assert curve_band([run], "val").epochs == (1, 10, 20)


def test_the_values_of_S_end_where_they_were_learned():
    bands = parameter_bands(make_runs({"mpgso": [0.5, 0.6]}), layer=1)
    assert [bands[name].mean[-1] for name in bands] == pytest.approx(list(MOVED))
    assert bands["m2"].mean[0] == pytest.approx(GCN[1] + (MOVED[1] - GCN[1]) / 4)


def test_a_directed_graph_has_no_interval():
    assert interval_bands([make_record("pgso", 0, 0.5, directed=True)], 0) is None
    low, high = interval_bands([make_record("pgso", 0, 0.5)], 0)
    assert (low.mean[-1], high.mean[-1]) == (-2.0, 2.0)


@given(count=st.integers(0, 3000), at_most=st.integers(2, 300), keep=st.integers(0, 3000))
def test_thinning_keeps_both_ends_and_what_is_asked_for(count, at_most, keep):
    actual = thinned(count, at_most, [keep])
    assert actual == sorted(set(actual))
    assert len(actual) <= at_most + 1
    assert {0, count - 1, keep} & set(range(count)) <= set(actual)
