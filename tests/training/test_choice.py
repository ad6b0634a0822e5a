from types import SimpleNamespace

from pgso.records import RunRecord
from pgso.training import choice
from pgso.training.choice import is_choice, num_trainings
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
    assert max(record.confidence.values()) <= 0.99975
    assert (record.chosen, record.test) == ("fixed", fixed.test)


def chosen_of(monkeypatch, spec, vals, sure, metric="accuracy"):
    """``choose`` on trainings that are told, not run: their scores, and confidence in each."""
    asked = []

    def train(candidate, name):
        asked.append((name, candidate.operator, candidate.preset))
        session = SimpleNamespace(spec=candidate, name=name)
        return choice.Trained(session, RunRecord(spec=candidate, metric=metric, val=vals[name]))

    monkeypatch.setattr(choice, "_confidence", lambda _, each: sure[each.session.name])
    best, _ = choice.choose(spec, train)
    return best.session.name, asked


def test_a_better_score_without_enough_evidence_is_not_kept(monkeypatch):
    spec = karate(operator="pgso", recipe="robust", evidence=0.9)
    vals = {"fixed": 0.5, "pgso": 0.8}
    assert chosen_of(monkeypatch, spec, vals, {"pgso": 0.89})[0] == "fixed"
    assert chosen_of(monkeypatch, spec, vals, {"pgso": 0.91})[0] == "pgso"
    careless = spec.but(evidence=None, operator="auto", presets=())
    assert chosen_of(monkeypatch, careless, {**vals, "mpgso": 0.8}, {})[0] == "pgso"


def test_of_errors_the_smaller_one_is_kept(monkeypatch):
    spec, vals = karate(operator="auto", evidence=None), {"fixed": 0.5, "pgso": 0.8, "mpgso": 0.4}
    assert chosen_of(monkeypatch, spec, vals, {}, "rmse")[0] == "mpgso"
    assert chosen_of(monkeypatch, spec, vals, {}, "r2")[0] == "pgso"


def test_several_challengers_share_the_risk(monkeypatch):
    spec = karate(operator="auto", recipe="robust", evidence=0.9, presets=("mean", "adjacency"))
    vals = {"fixed": 0.5, "mean": 0.6, "adjacency": 0.6, "pgso": 0.9, "mpgso": 0.9}
    for certainty, kept in ((0.974, "fixed"), (0.976, "pgso")):  # 1 - 0.1 / 4
        sure = {"mean": 0.97, "adjacency": 0.97, "pgso": certainty, "mpgso": 0.0}
        assert chosen_of(monkeypatch, spec, vals, sure)[0] == kept


def test_learned_operators_start_at_the_fixed_one_that_was_kept(monkeypatch):
    spec = karate(operator="auto", recipe="robust", evidence=0.9)
    vals = {"fixed": 0.5, "mean": 0.9, "symmetric_laplacian": 0.7, "pgso": 0.9, "mpgso": 0.9}
    sure = {"mean": 0.5, "symmetric_laplacian": 0.98, "pgso": 0.0, "mpgso": 0.98}
    name, asked = chosen_of(monkeypatch, spec, vals, sure)
    assert name == "mpgso"
    assert asked == [
        ("fixed", "fixed", None),
        ("mean", "fixed", "mean"),
        ("symmetric_laplacian", "fixed", "symmetric_laplacian"),
        ("pgso", "pgso", "symmetric_laplacian"),
        ("mpgso", "mpgso", "symmetric_laplacian"),
    ]


def test_the_number_of_trainings_is_known_before_they_start():
    robust = {"recipe": "robust"}
    auto = {"operator": "auto"}
    for changed in ({}, robust, auto, {**auto, **robust}, {"operator": "fixed"}):
        asked, epochs = karate(epochs=1, **changed), []
        fit(asked, watch=lambda session, epochs=epochs: epochs.append(session.epoch))
        assert num_trainings(asked) == len(epochs)
