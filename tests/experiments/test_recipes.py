from pgso.experiments.recipes import (
    EXPERIMENTS,
    FIXED_PRESETS,
    VARIANTS,
    robust_runs,
    tuned_runs,
    variant_of,
)
from pgso.experiments.study import Size
from pgso.records import RunRecord, RunSpec


def record(test: float, val: float = 0.5, **choices) -> RunRecord:
    spec = RunSpec(dataset="karate", **choices)
    return RunRecord(spec=spec, val=val, test=test)


def test_every_variant_is_told_from_the_others():
    names = [variant_of(RunSpec(dataset="any", **choices)) for choices in VARIANTS.values()]
    assert names == list(VARIANTS)


def test_a_variant_is_compared_with_the_architectures_own_operator(tmp_path):
    records = [
        record(0.6, operator="fixed"),
        record(0.9, operator="fixed", preset="mean"),
        record(0.7, operator="pgso"),
        record(0.8, operator="pgso", **VARIANTS["validation"]),
    ]
    page = EXPERIMENTS["recipes"].page(records, tmp_path)
    assert "| karate | +10.0 / – | +20.0 / – | – / – |" in page


def test_the_tuned_fixed_operator_is_the_best_on_validation_whatever_its_test_score():
    records = [
        record(test, val, operator="fixed", preset=preset)
        for preset, val, test in zip(FIXED_PRESETS, (0.5, 0.7, 0.6), (0.9, 0.1, 0.8), strict=True)
    ]
    assert [run.test for run in tuned_runs(records)] == [0.1]
    assert tuned_runs(records[:2]) == []


def test_robust_runs_are_those_of_the_recipe():
    records = [
        record(0.2, operator="pgso", **VARIANTS["validation"]),
        record(0.3, operator="pgso", recipe="robust"),
        record(0.4, operator="auto", recipe="robust", seed=1),
    ]
    assert [run.test for run in robust_runs(records, "pgso")] == [0.3]
    assert [run.test for run in robust_runs(records, "auto")] == [0.4]


def test_every_graph_of_the_study_has_its_fixed_and_its_robust_runs():
    specs = EXPERIMENTS["recipes"].runs(Size.FULL, {})
    cells = {(s.dataset, s.residual) for s in specs}
    assert len({dataset for dataset, _ in cells}) >= 10
    for cell in cells:
        own = [s.operator for s in specs if (s.dataset, s.residual) == cell]
        assert own.count("fixed") == len(FIXED_PRESETS) * own.count("auto")
