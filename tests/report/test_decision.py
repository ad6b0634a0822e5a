"""All seeds decide together."""

import numpy as np

from pgso.records import RunRecord, RunSpec
from pgso.records.judged import Judged
from pgso.report.comparison import compare
from pgso.report.decision import decision_of


def runs(gain, seeds=10, labels=30, split=True):
    """Fixed, PGSO and mPGSO; mPGSO puts some labels right that fixed has wrong."""
    rng, actual = np.random.default_rng(0), []
    for seed in range(seeds):
        right = rng.random(labels) < 0.6
        other = np.where(rng.random(labels) < 0.1, rng.random(labels) < 0.6, right)
        better = np.where(rng.random(labels) < gain / 0.4, True, right)
        items = range(labels * seed, labels * (seed + 1)) if split else range(labels)
        for name, outcome in (("fixed", right), ("pgso", other), ("mpgso", better)):
            spec = RunSpec(dataset="karate", operator=name, seed=seed)
            judged = Judged(items=items, outcomes=outcome.astype(float).tolist())
            actual.append(RunRecord(spec=spec, val=0.6, test=0.6, judged=judged))
    return actual


def test_ten_seeds_see_a_gain_that_none_sees_alone():
    together = decision_of(runs(gain=0.05))
    assert (together.kept, together.seeds, together.labels) == ("mpgso", 10, 300)
    assert together.needed == 0.95
    alone = [decision_of([run for run in runs(0.05) if run.spec.seed == s]) for s in range(10)]
    assert sum(one.kept == "mpgso" for one in alone) < 5


def test_without_a_gain_the_fixed_operator_stays():
    decision = decision_of(runs(gain=0.0))
    assert decision.kept == "fixed"
    assert "keep the fixed operator" in decision.sentence


def test_it_is_part_of_the_comparison():
    comparison = compare(runs(gain=0.1))
    assert comparison.decision.kept == "mpgso"
    assert any(
        "300 validation labels of all 10 seeds together" in note for note in comparison.notes
    )


def test_without_labels_that_judge_there_is_none():
    records = [run.model_copy(update={"judged": None}) for run in runs(0.0)]
    assert decision_of(records) is None
    assert compare(records).decision is None
