from pgso.records import RunRecord, RunSpec
from pgso_studies.recipes import (
    EXPERIMENTS,
    FIXED_PRESETS,
    VARIANTS,
    tuned_runs,
    variant_of,
)
from pgso_studies.study import Size


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


def test_every_graph_of_the_study_has_its_fixed_runs_and_most_have_learned_ones():
    specs = EXPERIMENTS["recipes"].runs(Size.FULL, {})
    cells = {(s.dataset, s.residual) for s in specs}
    assert len({dataset for dataset, _ in cells}) >= 10
    for cell in cells:
        operators = [s.operator for s in specs if (s.dataset, s.residual) == cell]
        assert operators.count("fixed") in (5 * len(FIXED_PRESETS), 10 * len(FIXED_PRESETS))
        assert operators.count("pgso") == operators.count("mpgso")
    assert sum(s.operator == "pgso" for s in specs) > 100
