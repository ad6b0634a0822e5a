"""The ladder is climbed where there is a reason, and not elsewhere."""

import dataclasses

import numpy as np
import pytest
import torch
from benchmarks.finding import risk

from pgso.finding import find, learning
from pgso.finding.blocks import Letter, Propagation, Word
from pgso.finding.ladder import RISK, TO_OTHERS, TO_OWN, Ladder
from pgso.finding.rungs import FAMILIES, Rung
from pgso.finding.summary import rung_record
from pgso.finding.verdict import guess_of
from pgso.graph import Graph, Relations
from tests.finding.problems import GCN, OUT, generated


def test_the_risks_of_all_steps_are_the_risk():
    extensions = {name: family.risk for name, family in FAMILIES.items() if family.learns}
    assert pytest.approx(RISK) == TO_OWN["node"] + TO_OTHERS["node"] + sum(extensions.values())
    of_graphs = TO_OWN["graph"] + TO_OTHERS["graph"] + extensions["structure beside"]
    assert pytest.approx(RISK) == of_graphs


@pytest.mark.parametrize("seed", range(3))
def test_random_labels_end_without_a_graph(seed):
    ladder = Ladder(generated("nothing", seed))
    assert ladder.climb().rung.name == "no graph"
    assert ladder.steps == ["no graph"]


def test_labels_of_features_need_no_graph():
    assert Ladder(generated(())).climb().rung.family == "features"


@pytest.mark.parametrize(("truth", "seed"), [((), 3), ("nothing", 0)])
def test_labels_of_neighbours_are_counted_by_whole_folds(truth, seed, monkeypatch):
    ladder = Ladder(generated(truth, seed, labels=60, val=30))
    shares = ladder.family_shares(ladder.climb())
    assert shares.get("labels", 0.0) < 0.1
    monkeypatch.setattr(Ladder, "_by_folds", lambda self, fitted: fitted)
    assert ladder.family_shares(ladder.incumbent)["labels"] > 0.2  # what they say of themselves


def test_labels_of_gcn_end_at_gcn():
    ladder = Ladder(generated((GCN, GCN)))
    assert ladder.climb().rung.name == "gcn, 2 hops"
    assert ladder.steps == ["no graph", "gcn, 2 hops"]


def test_labels_of_one_direction_end_at_directions():
    problem = generated((OUT,), directed=True)
    best = Ladder(problem).climb()
    assert best.rung.family == "directions"
    assert any(term.endswith("@out") for term in rung_record(best, best, problem).terms)


def test_undirected_graphs_have_no_directions_and_no_moments():
    ladder = Ladder(generated((GCN, GCN)))
    ladder.climb()
    families = {fitted.rung.family for fitted in ladder.fitted.values()}
    assert families >= {"features", "own", "presets", "banks"}
    left_out = {"directions", "moments", "relations", "learned"}  # too few labels to learn S
    assert not families & left_out
    assert left_out <= set(FAMILIES)


def test_a_bank_that_drops_its_blocks_is_not_listed_twice():
    ladder = Ladder(generated(()))
    ladder.climb()
    words = [fitted.words for fitted in ladder.fitted.values()]
    assert len(words) == len(set(words))
    assert ladder.same_as
    assert set(ladder.same_as.values()) <= set(ladder.fitted)
    for name, same in ladder.same_as.items():
        assert ladder.loss(name) == ladder.loss(same)


def test_labels_that_S_was_learned_on_do_not_judge_it(monkeypatch):
    seen = {}

    def learn(problem, words, fit, rows, per_hop=False):
        seen["rows"] = rows
        return ((0.0, 1.0, 0.0, 0.0, -0.4, -0.4, 0.8),)

    def compare(problem, incumbent, challengers, judges=None):
        seen.setdefault("judges", set()).add(0 if judges is None else int(judges.sum()))
        return original(problem, incumbent, challengers, judges)

    import pgso.finding.ladder as module

    original = module.evidence_of
    monkeypatch.setattr(learning, "learn", learn)
    monkeypatch.setattr(module, "evidence_of", compare)
    problem = generated((GCN, GCN), labels=220)
    ladder = Ladder(problem)
    ladder.climb()
    assert len(seen["rows"]) == 110
    assert len(problem.train) + len(problem.val) - 110 in seen["judges"]
    assert "gcn, 2 hops, S learned" in ladder.fitted


def test_a_large_graph_is_not_kept_in_memory_rung_by_rung(monkeypatch):
    import pgso.finding.ladder as module

    plain, frugal = Ladder(generated((GCN, GCN))), Ladder(generated((GCN, GCN)))
    best = plain.climb()
    monkeypatch.setattr(module, "MOST_NUMBERS", 20_000)
    assert frugal.climb().rung == best.rung
    few, many = (sum(v.numel() for v in side.blocks._values.values()) for side in (frugal, plain))
    assert few <= 20_000 < many


def test_labels_of_one_relation_end_at_relations():
    problem = with_relations(generated("nothing"))
    ladder = Ladder(problem)
    best = ladder.climb()
    assert best.rung.family == "relations"
    assert {"adjacency@likes", "gcn@likes", "mean@likes", "quarter@likes"} & set(
        rung_record(best, best, problem).terms
    )


def with_relations(problem):
    """The edges in two kinds by chance; labels follow the neighbours of one kind."""
    edges = problem.graph.edge_index
    each = torch.rand(problem.graph.num_nodes, generator=torch.Generator().manual_seed(3))
    likes = (each[edges[0]] + each[edges[1]]) % 0.2 < 0.1  # both ways of an edge are of a kind
    kinds = Relations({"likes": edges[:, likes], "knows": edges[:, ~likes]}, len(problem.y))
    signal = Propagation(problem.graph, kinds).operator(Letter.of("mean", "likes")).times(problem.x)
    W = torch.randn(signal.size(1), 3, generator=torch.Generator().manual_seed(4))
    return dataclasses.replace(problem, relations=kinds, y=(signal @ W).argmax(dim=1))


def test_terms_name_every_operator_of_a_block():
    problem = generated("nothing", directed=True)
    words = (Word((Letter.of("quarter", "out"), Letter.of("quarter", "in"))),)
    ladder = Ladder(problem)
    ladder.add([Rung("both", "banks", words, complexity=1)])
    fitted = ladder.fitted["both"]
    assert rung_record(fitted, fitted, problem).terms == ("quarter@out", "quarter@in")


def test_labels_that_S_was_learned_on_do_not_score_it():
    problem = generated((GCN,), nodes=120, labels=60)
    ladder = Ladder(problem)
    ladder.climb()
    kept = ladder.incumbent
    learned_on, signs = torch.arange(len(problem.train))[30:], torch.ones(len(problem.train), 1)

    def is_as_good_where(wrong):  # the same rung, wrong about some training labels
        loo = kept.fit.loo * signs.index_fill(0, wrong, -1.0)
        fit = dataclasses.replace(kept.fit, loo=loo)
        return ladder._scores_higher(dataclasses.replace(kept, fit=fit), kept, learned_on)

    assert is_as_good_where(learned_on)
    assert not is_as_good_where(torch.arange(30))


def test_without_edges_no_operator_is_better_than_none():
    rng = np.random.default_rng(4)  # where A x = 0 beats a large penalty by a ten-millionth
    x, y = rng.normal(size=(150, 5)), rng.integers(0, 3, 150)
    edgeless = Graph.from_edge_index(torch.zeros(2, 0, dtype=torch.long), num_nodes=150)
    assert find(edgeless, x, y).best.name == "no graph"


def with_many_classes(seed, classes=50, columns=200, nodes=600, labels=200, val=100):
    """Many classes that features tell a little about, on a graph that says nothing."""
    generator = torch.Generator().manual_seed(seed)
    problem = generated("nothing", seed, nodes, labels, val)
    x = torch.randn(nodes, columns, generator=generator)
    values = 2 * x @ torch.randn(columns, classes, generator=generator) / columns**0.5
    y = (values + 2 * torch.randn(nodes, classes, generator=generator)).argmax(dim=1)
    names = tuple(map(str, range(classes)))
    return dataclasses.replace(problem, x=x, y=y, classes=names)


@pytest.mark.parametrize("seed", range(6))
def test_with_many_classes_a_graph_of_noise_is_not_climbed(seed):
    assert Ladder(with_many_classes(seed)).climb().rung.name == "no graph"


@pytest.mark.parametrize("seed", [7, 11, 17])
def test_a_block_that_only_moves_the_penalty_is_not_climbed(seed):
    """Of fifty classes the squared error's penalty is too large for the log loss."""
    options = {"classes": 50, "hubs": True, "labels": 200, "nodes": 1000, "columns": 200}
    assert Ladder(risk.generate("features", seed, **options)).climb().rung.name == "no graph"


def test_with_many_classes_the_true_operator_is_climbed():
    options = {"classes": 20, "hubs": True, "labels": 400, "nodes": 1000}
    assert Ladder(risk.generate("gcn", 1, **options)).climb().rung.name == "gcn, 2 hops"


def test_no_rung_is_worse_than_guessing():
    problem = with_many_classes(0, nodes=400)
    ladder = Ladder(problem)
    ladder.climb()
    guess = float(guess_of(problem)[0].losses[: len(problem.train)].mean())
    for fitted in ladder.fitted.values():
        assert float(fitted.said.losses[: len(problem.train)].mean()) <= guess + 1e-9


def test_a_rung_that_any_graph_would_do_for_is_not_kept():
    """Labels follow the features: what a bank adds to them, strangers add as well."""
    ladder = Ladder(generated(()))
    ladder.climb()
    assert not ladder._needs_its_graph(ladder.fitted["self + mean, 1 hop"])
    truth = Ladder(generated((GCN, GCN)))
    assert truth._needs_its_graph(truth.climb())


def test_a_relabelled_graph_has_the_same_degrees_and_other_neighbours():
    problem = generated("nothing", directed=True)
    moved = problem.relabelled().graph
    assert sorted(moved.degree.tolist()) == sorted(problem.graph.degree.tolist())
    assert moved.num_edges == problem.graph.num_edges
    there, here = (set(map(tuple, g.edge_index.t().tolist())) for g in (moved, problem.graph))
    assert len(there & here) < 0.2 * len(here)


@pytest.mark.parametrize("order", [1, -1])
def test_of_equally_simple_rungs_that_are_as_good_the_better_one_is_kept(order):
    ladder = Ladder(generated((GCN, GCN)))
    like = ladder.climb()
    start, n = ladder.fitted["no graph"], len(like.said.losses)
    noise = torch.randn(n, generator=torch.Generator().manual_seed(0))
    wave = 0.05 * (noise - noise.mean())

    def rung(name, change):
        said = like.said._replace(losses=like.said.losses + change)
        return dataclasses.replace(like, rung=dataclasses.replace(like.rung, name=name), said=said)

    twins = [rung("the better one", wave), rung("the other one", 1e-4 - wave)]
    assert ladder._step(start, twins[::order], TO_OTHERS["node"]).rung.name == "the better one"


def test_labels_that_S_was_learned_on_judge_nothing_that_is_added_to_it(monkeypatch):
    step, added = Ladder._step, []

    def keep_what_learned(self, incumbent, challengers, risk, without=None):
        added.extend((one, without) for one in challengers if one.rung.adds)
        if any(one.rung.family == "learned" for one in challengers):
            return challengers[-1]
        return step(self, incumbent, challengers, risk, without)

    monkeypatch.setattr(Ladder, "_step", keep_what_learned)
    ladder = Ladder(generated((GCN, GCN), nodes=800, labels=250))
    ladder.climb()
    assert {family for one, _ in added for family in one.rung.adds} == {"labels", "structure"}
    for one, without in added:
        assert one.rung.family == "learned"
        assert torch.equal(without, ladder.learning_rows)
