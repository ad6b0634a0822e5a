"""Rungs of find beside trained networks."""

from types import SimpleNamespace

from pgso.records import RunRecord, RunSpec
from pgso_studies.atlas import agreement, pairs_of, rung_names


def finding(scores, same_as=None):
    rungs = tuple(SimpleNamespace(name=name, loo=loo) for name, loo in scores.items())
    return SimpleNamespace(metric="accuracy", rungs=rungs, same_as=same_as or {})


def run(test, **choices):
    return RunRecord(spec=RunSpec(dataset="karate", operator="fixed", **choices), test=test)


RUNS = [
    run(0.8),
    run(0.9, seed=1),
    run(0.7, preset="mean"),
    run(0.6, residual=True),
    run(0.1, preset="symmetric_laplacian"),
]
SCORES = {
    "gcn, 2 hops": 0.8,
    "mean, 2 hops": 0.7,
    "self + gcn, 1 hop": 0.6,
    "symmetric_laplacian, 1 hop": 0.2,
}


def test_a_network_sees_what_its_rung_sees():
    spec = RunSpec(dataset="karate", operator="fixed", terms=("self", "quarter@in", "quarter@out"))
    assert next(rung_names(spec)) == "self + quarter in + out, 2 hops"
    assert list(rung_names(spec.but(operator="pgso"))) == []
    closed_form = RunSpec(dataset="karate", operator="fixed", head="closed_form")
    assert list(rung_names(closed_form)) == []  # no network was trained
    assert list(rung_names(RunSpec(dataset="karate", operator="fixed", conv="gat"))) == []


def test_runs_of_a_network_are_one_pair():
    pairs = pairs_of(finding(SCORES), RUNS)
    assert pairs["gcn, 2 hops"] == (0.8, 0.8500000000000001, 2)
    assert pairs["self + gcn, 1 hop"] == (0.6, 0.6, 1)  # the ladder has no second hop of it
    assert pairs["symmetric_laplacian, 1 hop"] == (0.2, 0.1, 1)
    same = finding({"no graph": 0.5}, {"self + gcn, 2 hops": "no graph"})
    assert pairs_of(same, RUNS) == {"no graph": (0.5, 0.6, 1)}


def test_the_same_order_is_a_rank_correlation_of_one():
    text = agreement({"karate": finding(SCORES)}, RUNS)
    assert "| karate | 4 | 5 | 1.00 | gcn, 2 hops | gcn, 2 hops | 0.0 |" in text
    turned = finding({name: -loo for name, loo in SCORES.items()})
    assert "| -1.00 | symmetric_laplacian, 1 hop | gcn, 2 hops | 75.0 |" in agreement(
        {"karate": turned}, RUNS
    )


def test_without_trained_networks_there_is_nothing_to_say():
    assert agreement({"karate": finding(SCORES)}, RUNS[:2]) == ""
    assert agreement({}, RUNS) == ""
