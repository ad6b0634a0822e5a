"""Runs with a closed-form head: findings as records."""

import pytest

import pgso
from pgso.errors import InputError
from pgso.records import RunRecord, Store
from pgso.training.engines import run_all
from pgso.training.fit import fit

SPEC = pgso.RunSpec(dataset="karate", head="closed_form", seed=1)


def test_its_record_is_the_finding(tmp_path):
    record, actual = fit(SPEC), pgso.find("karate", seed=1)
    assert (record.chosen, record.test) == (actual.best.name, actual.best.test)
    assert record.finding.rungs[0].name == "no graph"
    assert RunRecord.model_validate_json(record.model_dump_json()) == record
    assert fit(SPEC).without_times() == record.without_times()


def test_it_is_resumed_like_any_run(tmp_path):
    store, made = Store(tmp_path), []
    run_all([SPEC], store, on_record=made.append)
    run_all([SPEC], store, on_record=made.append)
    assert len(made) == 1
    assert store.get(SPEC).finding.best == made[0].chosen


def test_the_objective_and_options_of_the_data_count():
    spec = pgso.RunSpec(
        dataset="minesweeper", head="closed_form", objective="balanced_accuracy",
        data_options={"rows": 12, "cols": 12},
    )  # fmt: skip
    record = fit(spec)
    assert record.metric == "balanced_accuracy"
    assert record.finding.graph.num_nodes == 144
    assert record.finding.spec["data_options"] == {"rows": 12, "cols": 12}


def test_what_it_cannot_do_is_refused(tmp_path):
    with pytest.raises(InputError, match="leave base out"):
        fit(SPEC.but(base="ppr"))
    with pytest.raises(InputError, match="saved by"):
        fit(SPEC, save=tmp_path / "model.safetensors")
