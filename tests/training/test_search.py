import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgso.errors import InputError
from pgso.records import RunRecord, RunSpec
from pgso.training.search import GRAPH_SPACE, NODE_SPACE, grid, grid_search, tpe_search
from tests.training.tasks import karate

SPACE = {"hidden_channels": (16, 32, 64), "num_layers": (1, 2)}
SCORE = st.integers(0, 3).map(lambda k: k / 4)
TABLES = st.lists(SCORE, min_size=12, max_size=12)
SEEDS = (0, 1)


def place_of(spec: RunSpec) -> int:
    hidden = SPACE["hidden_channels"].index(spec.hidden_channels)
    return (hidden * 2 + spec.num_layers - 1) * 2 + spec.seed


def fake_run(val, test, failing=()):
    """Scores out of two tables, and what was asked for."""
    asked = []

    def run(specs):
        asked.extend(specs)
        return [
            RunRecord(spec=spec, status="failed")
            if place_of(spec) in failing
            else RunRecord(spec=spec, val=val[place_of(spec)], test=test[place_of(spec)])
            for spec in specs
        ]

    run.asked = asked
    return run


def by_grid(run):
    return grid_search(karate(), SPACE, SEEDS, run)


def by_tpe(run):
    return tpe_search(karate(), SPACE, SEEDS, run, trials=6)


@pytest.mark.parametrize("search", [by_grid, by_tpe])
@settings(max_examples=10)
@given(val=TABLES, test=TABLES, other=TABLES)
def test_test_scores_choose_nothing(search, val, test, other):
    one, two = fake_run(val, test), fake_run(val, other)
    assert [t.choice for t in search(one)] == [t.choice for t in search(two)]
    assert [spec.key for spec in one.asked] == [spec.key for spec in two.asked]


@given(val=TABLES)
def test_the_grid_is_sorted_by_the_mean_validation_score_over_the_same_seeds(val):
    trials = by_grid(fake_run(val, [0.0] * 12))
    assert len(trials) == 6
    assert [trial.val for trial in trials] == sorted((t.val for t in trials), reverse=True)
    for trial in trials:
        places = [place_of(record.spec) for record in trial.records]
        assert [record.spec.seed for record in trial.records] == list(SEEDS)
        assert trial.val == pytest.approx(sum(val[place] for place in places) / 2)


@pytest.mark.parametrize("search", [by_grid, by_tpe])
def test_a_choice_with_a_failed_run_comes_last(search):
    best = 3  # of the second combination, whose other seed is perfect
    trials = search(fake_run([1.0] * 12, [1.0] * 12, failing={best}))
    incomplete = [t for t in trials if best in [place_of(record.spec) for record in t.records]]
    if incomplete:  # TPE need not have come across it
        assert trials[-1] is incomplete[0]
        assert trials[-1].val is None


def test_the_same_search_asks_for_the_same_runs_so_that_it_resumes():
    table = [k / 12 for k in range(12)]
    one, two = fake_run(table, table), fake_run(table, table)
    by_tpe(one), by_tpe(two)
    assert [spec.key for spec in one.asked] == [spec.key for spec in two.asked]
    assert len(one.asked) == 12


def test_every_combination_of_the_appendix_is_a_valid_spec():
    for space, size in ((NODE_SPACE, 36), (GRAPH_SPACE, 135)):
        specs = {karate().but(**choice).key for choice in grid(space)}
        assert len(specs) == size


def test_without_optuna_the_search_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(InputError, match=r"pip install 'pgso\[search\]'"):
        by_tpe(fake_run([0.0] * 12, [0.0] * 12))
