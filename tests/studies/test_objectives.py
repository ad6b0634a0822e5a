"""Settings are chosen on validation, for every model alike."""

from pgso.records import RunRecord
from pgso_studies.objectives import MODELS, QUESTIONS, TUNING_SEEDS, Objectives, _spec
from pgso_studies.study import Size, needed

ESOL = QUESTIONS["ESOL, solubility"]


def record(spec, val, test):
    return RunRecord(spec=spec, metric="rmse", val=val, test=test, status="done")


def test_every_model_tries_every_setting_and_keeps_the_best_one():
    study = Objectives()
    first, _ = needed(study, Size.FULL, {})
    tried = [spec for spec in first if spec.dataset == "ESOL"]
    assert len(tried) == len(MODELS) * len(ESOL.grid) * len(TUNING_SEEDS)
    done = {}
    for model in MODELS:
        for place, choice in enumerate(ESOL.grid):
            spec = _spec(ESOL, model).but(**choice)
            # What validation prefers is worse on test, and another one for fixed.
            better = place == (0 if model == "fixed" else 1)
            scores = (0.5, 2.0) if better else (0.9, 1.0)
            done[spec.key] = record(spec, *scores)
    _, missing = needed(study, Size.FULL, done)
    later = [spec for spec in missing if spec.dataset == "ESOL"]
    assert len(later) == len(MODELS) * (ESOL.seeds - len(TUNING_SEEDS))
    epochs = {spec.epochs for spec in later if spec.operator == "pgso"}
    assert epochs == {ESOL.grid[1]["epochs"]}
    fixed = [spec for spec in later if spec.operator == "fixed" and spec.preset is None]
    assert {spec.epochs for spec in fixed} == {ESOL.grid[0]["epochs"]}
    page = study.page(list(done.values()), None)
    assert page.count("| 2.00 (1) |") == len(MODELS)
    assert "1.00 (1)" not in page


def test_a_model_that_is_not_tuned_yet_is_not_shown():
    spec = _spec(ESOL, "PGSO").but(**ESOL.grid[0])
    assert "## ESOL" not in Objectives().page([record(spec, 0.5, 1.0)], None)
