from pgso.records import RunRecord, RunSpec
from pgso_studies.study import best_choice, tuned_runs

BASE = RunSpec(dataset="karate")
CHOICES = [{"num_layers": 1}, {"num_layers": 2}, {"num_layers": 3}]


def done(val: dict[int, float], test: dict[int, float]) -> dict[str, RunRecord]:
    records = [
        RunRecord(spec=BASE.but(num_layers=layers, seed=seed), val=val[layers], test=test[layers])
        for layers in val
        for seed in (100, 101)
    ]
    return {record.spec.key: record for record in records}


def test_the_second_stage_waits_for_the_whole_first_one():
    partial = done({1: 0.5, 2: 0.6}, {1: 0.5, 2: 0.6})
    assert best_choice(BASE, CHOICES, (100, 101), partial) is None
    assert len(tuned_runs(BASE, CHOICES, (100, 101), range(5), partial)) == 6


def test_validation_chooses_and_test_has_no_say():
    val = {1: 0.5, 2: 0.7, 3: 0.6}
    for test in ({1: 0.9, 2: 0.1, 3: 0.5}, {1: 0.1, 2: 0.9, 3: 0.5}):
        records = done(val, test)
        assert best_choice(BASE, CHOICES, (100, 101), records) == {"num_layers": 2}
        runs = tuned_runs(BASE, CHOICES, (100, 101), range(5), records)
        assert [spec.num_layers for spec in runs[6:]] == [2] * 5


def test_every_operator_gets_the_same_budget():
    sizes = {
        operator: len(tuned_runs(BASE.but(operator=operator), CHOICES, (100,), range(3), {}))
        for operator in ("fixed", "pgso", "mpgso")
    }
    assert len(set(sizes.values())) == 1
