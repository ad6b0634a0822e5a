import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgso.data.splits import split_at_random, split_each_class, split_into_folds
from pgso.errors import InputError
from pgso_studies.moleculenet import split_groups

labels = st.lists(st.integers(-1, 4), max_size=60).map(lambda values: np.array(values, dtype=int))


@given(labels, st.integers(0, 5))
def test_every_labelled_item_is_in_exactly_one_part(y, seed):
    together = np.concatenate(split_each_class(y, seed))
    assert sorted(together) == list(np.flatnonzero(y >= 0))


@given(labels, st.integers(0, 5))
def test_a_class_of_three_or_more_is_in_all_parts(y, seed):
    parts = split_each_class(y, seed)
    for label in range(5):
        if (y == label).sum() >= 3:
            assert all(label in y[part] for part in parts)


def test_each_class_is_cut_by_the_shares_asked_for():
    y = np.repeat([0, 1], [200, 100])
    parts = split_each_class(y, seed=1, train=0.8, val=0.1)
    assert [np.bincount(y[part]).tolist() for part in parts] == [[160, 80], [20, 10], [20, 10]]


def test_a_seed_is_a_split():
    y = np.repeat([0, 1], 50)
    first, again, other = (split_each_class(y, seed) for seed in (3, 3, 4))
    assert all(map(np.array_equal, first, again))
    assert not np.array_equal(first[0], other[0])


@given(st.integers(0, 3), st.sampled_from([3, 5, 10]))
def test_ten_seeds_test_everything_once(shuffling, folds):
    y = np.repeat([0, 1, 2], [10, 13, 20])
    splits = [split_into_folds(y, shuffling * folds + k, folds, "fair") for k in range(folds)]
    assert sorted(np.concatenate([test for _, _, test in splits])) == list(range(len(y)))
    assert sorted(np.concatenate([val for _, val, _ in splits])) == list(range(len(y)))
    for parts in splits:
        assert sorted(np.concatenate(parts)) == list(range(len(y)))


def test_the_gin_protocol_has_no_test_set():
    y = np.repeat([0, 1], 20)
    train, val, test = split_into_folds(y, 0, 10, "gin")
    assert (len(train), len(val), len(test)) == (36, 4, 0)
    assert np.array_equal(val, split_into_folds(y, 0, 10, "fair")[2])


def test_more_folds_than_members_of_a_class_are_refused():
    with pytest.raises(InputError, match="between 3 and 2, the size of the smallest class"):
        split_into_folds(np.array([0, 0, 1, 1, 1]), 0, 10, "fair")
    with pytest.raises(InputError, match="folds must be a whole number"):
        split_into_folds(np.arange(40) % 2, 0, 10.0, "fair")


@given(st.integers(4, 60), st.integers(0, 1000))
def test_numbers_are_split_at_random_and_all_parts_have_some(n, seed):
    known = np.arange(n) % 5 != 4
    parts = split_at_random(known, seed)
    assert sorted(np.concatenate(parts)) == list(np.flatnonzero(known))
    assert all(len(part) for part in parts) or known.sum() < 5


@given(st.lists(st.integers(0, 6), min_size=10, max_size=60))
def test_groups_stay_together(groups):
    groups = np.array(groups)
    parts = split_groups(groups)
    assert sorted(np.concatenate(parts)) == list(range(len(groups)))
    for one, other in ((0, 1), (0, 2), (1, 2)):
        assert not set(groups[parts[one]]) & set(groups[parts[other]])
    assert len(parts[0]) <= 0.8 * len(groups)
