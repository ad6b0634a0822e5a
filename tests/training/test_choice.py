from pgso.training.choice import is_choice
from pgso.training.fit import fit
from tests.training.tasks import karate, minesweeper

GRID = {"rows": 20, "cols": 20}


def test_only_auto_and_learned_operators_that_need_evidence_are_a_choice():
    assert not is_choice(karate(operator="pgso"))
    assert not is_choice(karate(operator="fixed", recipe="robust"))
    assert is_choice(karate(operator="mpgso", recipe="robust"))
    assert is_choice(karate(operator="auto"))


def test_auto_starts_from_the_fixed_operator_that_is_best_on_validation():
    presets = ("mean", "symmetric_laplacian")
    spec = minesweeper(data_options=GRID, epochs=8, seed=1)
    fixed = [fit(spec.but(operator="fixed", preset=preset)) for preset in (None, *presets)]
    best = max(fixed, key=lambda record: record.val)
    record = fit(spec.but(operator="auto", presets=presets))
    assert record.start[0] == best.start[0]
    assert record.val >= best.val


def test_every_challenger_needs_the_evidence():
    spec = minesweeper(epochs=4, operator="auto", recipe="robust", evidence=0.999)
    record, fixed = fit(spec), fit(spec.but(operator="fixed"))
    assert set(record.confidence) == {"mean", "symmetric_laplacian", "pgso", "mpgso"}
    assert max(record.confidence.values()) <= 0.999
    assert (record.chosen, record.test) == ("fixed", fixed.test)
