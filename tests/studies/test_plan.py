from pathlib import Path

import pytest

from pgso.records import RunRecord, RunSpec
from pgso.records.numerics import NUMERICS
from pgso_studies.ledger import write_ledger
from pgso_studies.plan import (
    Timing,
    Timings,
    by_importance,
    plan_table,
    timings_of,
    untimed_kinds,
)
from pgso_studies.study import EXPERIMENTS

SPEC = RunSpec(dataset="karate", epochs=100)


def test_every_study_has_its_place_in_the_order():
    assert sorted(by_importance()) == sorted(EXPERIMENTS)
    assert by_importance().index("node_classification") < by_importance().index("recipes")


def test_the_likest_run_gives_the_estimate():
    timings = Timings([Timing(SPEC, 2.0), Timing(SPEC.but(conv="gat"), 30.0)])
    assert timings.seconds(SPEC.but(seed=5)) == 2.0
    assert timings.seconds(SPEC.but(conv="gat", epochs=10)) == pytest.approx(3.0)
    assert timings.seconds(SPEC.but(conv="gin")) == pytest.approx(16.0)  # any of the dataset
    assert timings.seconds(SPEC.but(dataset="digits")) is None


def test_a_closed_form_is_not_like_a_trained_run():
    find = SPEC.but(head="closed_form")
    assert Timings([Timing(SPEC, 2.0)]).seconds(find) is None
    assert Timings([Timing(find, 2.0)]).seconds(find.but(epochs=7)) == 2.0


def test_a_deeper_run_takes_longer():
    timings = Timings([Timing(SPEC.but(num_layers=2), 2.0)])
    assert timings.seconds(SPEC.but(num_layers=4)) == pytest.approx(4.0)


def test_the_newest_revision_counts():
    timings = Timings([Timing(SPEC, 9.0, NUMERICS - 1), Timing(SPEC.but(seed=1), 2.0)])
    assert timings.seconds(SPEC) == 2.0
    assert timings.is_current(SPEC)
    assert not Timings([Timing(SPEC, 9.0, NUMERICS - 1)]).is_current(SPEC)


def test_hours_are_not_given_where_a_run_has_no_estimate():
    timings = Timings([Timing(SPEC, 1800.0)])
    assert timings.hours([SPEC, SPEC.but(seed=1)]) == pytest.approx(1.0)
    assert timings.hours([SPEC, RunSpec(dataset="digits")]) is None


def test_the_plan_counts_what_is_done_and_takes_times_from_the_ledgers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("pgso_studies.plan.by_importance", lambda: ["spectral_support"])
    spec = RunSpec(dataset="Cora", seed=3)
    ledger = tmp_path / "spectral_support" / "records.jsonl"
    unasked = RunRecord(spec=spec.but(seed=77))
    write_ledger(ledger, [RunRecord(spec=spec, timing={"seconds": 3600.0}), unasked])
    assert timings_of(tmp_path).seconds(spec) == 3600
    text = plan_table(tmp_path)
    counts = "10 | 2 (1 more than asked for) | 9 | 9.0"
    assert f"| `pgso run spectral_support` | Figure 1 | 1 | {counts} |" in text
    assert "On 2 cores that is about 4 hours" in text


def test_every_kind_of_run_is_timed_once_with_todays_code(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("pgso_studies.plan.by_importance", lambda: ["convergence"])
    old = Timings([Timing(RunSpec(dataset="Cora", operator="fixed"), 4000.0, NUMERICS - 1)])
    kinds = untimed_kinds(old, seconds=60.0)
    assert len(kinds) == 4  # two datasets with two operators each, for all seeds
    (long,) = [spec for spec in kinds if (spec.dataset, spec.operator) == ("Cora", "fixed")]
    assert long.epochs == 3  # 20 seconds an epoch
    assert untimed_kinds(Timings(Timing(spec, 1.0) for spec in kinds)) == []
