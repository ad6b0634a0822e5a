import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pgso.evaluation.statistics import (
    holm,
    holm_with_levels,
    spread,
    t_interval,
    t_test,
)

scores = st.integers(-10_000, 10_000).map(lambda k: k / 100)
samples = st.lists(scores, min_size=2, max_size=12).filter(lambda values: len(set(values)) > 1)
p_values = st.lists(st.one_of(st.none(), st.floats(1e-6, 1)), min_size=1, max_size=5)


def test_the_interval_is_the_one_of_the_textbook():
    # mean 3, s = sqrt(2.5), t(4, 0.975) = 2.7764, half-width 2.7764 * sqrt(2.5 / 5)
    low, high = t_interval([1.0, 2.0, 3.0, 4.0, 5.0])
    assert low == pytest.approx(3 - 1.9632, abs=1e-4)
    assert high == pytest.approx(3 + 1.9632, abs=1e-4)


@given(values=samples, level=st.sampled_from([0.5, 0.9, 0.95, 0.975]))
def test_the_interval_agrees_with_scipy(values, level):
    expected = stats.ttest_1samp(values, 0.0).confidence_interval(level)
    low, high = t_interval(values, level)
    assert (low, high) == pytest.approx((expected.low, expected.high), rel=1e-6, abs=1e-9)


@given(pairs=st.lists(st.tuples(scores, scores), min_size=2, max_size=12))
def test_the_t_test_agrees_with_scipys_paired_one(pairs):
    differences = [x - y for x, y in pairs]
    if not spread(differences):
        assert t_test(differences) is None
        return
    expected = stats.ttest_rel([x for x, _ in pairs], [y for _, y in pairs]).pvalue
    assert t_test(differences) == pytest.approx(expected, rel=1e-6, abs=1e-12)


@given(values=samples.map(lambda values: values[:7]).filter(lambda values: len(set(values)) > 1))
def test_swapping_the_arms_flips_the_interval_and_keeps_p(values):
    swapped = [-value for value in values]
    low, high = t_interval(values)
    assert t_interval(swapped) == pytest.approx((-high, -low))
    assert t_test(swapped) == pytest.approx(t_test(values))


@given(values=samples, constant=scores)
def test_a_constant_on_one_arm_shifts_the_interval_by_it(values, constant):
    shifted = t_interval([value + constant for value in values])
    expected = [end + constant for end in t_interval(values)]
    assert shifted == pytest.approx(expected, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("values", [[1.0], [2.0, 2.0, 2.0], [0.1 + 0.2, 0.3]])
def test_nothing_is_claimed_where_the_spread_is_unknown(values):
    assert t_interval(values) is None
    assert t_test(values) is None


def test_holm_is_the_one_of_the_textbook():
    # sorted: 0.005 x 4, 0.01 x 3, 0.03 x 2, 0.04 x 1, then never below an earlier one
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


@given(p=p_values)
def test_holm_lies_between_no_correction_and_bonferroni(p):
    count = sum(value is not None for value in p)
    for raw, corrected in zip(p, holm(p), strict=True):
        if raw is None:
            assert corrected is None
        else:
            assert raw <= corrected <= min(1, count * raw) + 1e-12


@given(family=st.lists(samples, min_size=1, max_size=4))
def test_a_corrected_interval_leaves_out_0_if_and_only_if_its_corrected_p_is_small(family):
    p = [t_test(values) for values in family]
    for values, (corrected, level) in zip(family, holm_with_levels(p), strict=True):
        if math.isclose(corrected, 0.05, rel_tol=1e-6):
            continue
        low, high = t_interval(values, level)
        assert (low > 0 or high < 0) == (corrected < 0.05)
