"""``find``: what users may hand over, and what they get."""

from dataclasses import replace
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch
from torch_geometric.data import Data

import pgso
from pgso.errors import InputError
from pgso.finding import columns as columns_module
from pgso.finding import find
from pgso.finding import problem as problem_module
from pgso.objectives import OBJECTIVES
from tests.finding.problems import GCN, components_of, generated, standardised


@pytest.fixture(scope="module")
def problem():
    return generated((GCN, GCN), nodes=200, labels=80, val=50)


@pytest.fixture(scope="module")
def found(problem):
    return find(problem.graph, problem.raw, problem.y, train=problem.train, val=problem.val)


def test_it_has_what_the_design_promises(found):
    best = found.best
    assert best.name == "gcn, 2 hops"
    assert best.terms == ("gcn",)
    assert pgso.PRESETS["gcn"].as_floats() == best.S
    assert best.name in [rung.name for rung in found.rungs]
    assert 0.5 < best.loo <= 1
    assert 0.5 < best.val <= 1
    assert best.test is None
    assert best.seconds > 0
    assert "GCN's own operator is right" in found.verdict
    assert repr(found).startswith("Finding(in memory: gcn, 2 hops")


def test_predictions_are_probabilities_of_every_node(found, problem):
    probabilities = found.predict()
    assert probabilities.shape == (200, 3)
    torch.testing.assert_close(probabilities.sum(dim=1), torch.ones(200))
    right = (probabilities.argmax(dim=1) == problem.y)[problem.test].double().mean()
    assert right > 0.6


def test_the_same_graph_in_any_form_gives_the_same_finding(found, problem):
    edges, n = problem.graph.edge_index, problem.graph.num_nodes
    matrix = scipy.sparse.coo_array((np.ones(edges.size(1)), edges.flip(0).numpy()), (n, n))
    network = nx.from_scipy_sparse_array(matrix)
    mask = torch.zeros(n, dtype=torch.bool).index_fill(0, problem.train, True)
    val = torch.zeros(n, dtype=torch.bool).index_fill(0, problem.val, True)
    data = Data(x=problem.raw, edge_index=edges, y=problem.y, train_mask=mask, val_mask=val)
    letters = np.array(["a", "b", "c"])[problem.y.numpy()]
    parts = {"train": problem.train.numpy(), "val": val.numpy()}
    findings = [
        find(matrix, problem.raw.numpy(), problem.y.numpy(), **parts),
        find(network, scipy.sparse.csr_array(problem.raw.numpy()).toarray(), letters, **parts),
        find(data),
        find(matrix.toarray(), problem.raw, problem.y, **parts),
        find(torch.from_numpy(matrix.toarray()).to_sparse(), problem.raw, problem.y, **parts),
    ]
    for other in findings:
        assert other.best.name == found.best.name
        mine, theirs = (one.record.rung(one.best.name) for one in (found, other))
        assert theirs.loo == pytest.approx(mine.loo)
        losses = [[head.loss for head in one.record.heads] for one in (found, other)]
        assert losses[1] == pytest.approx(losses[0], rel=1e-3)


def test_labels_without_a_part_train(problem):
    unknown = problem.y.clone()
    unknown[problem.test] = -1
    found = find(problem.graph, problem.raw, unknown, val=problem.val)
    assert found.record.graph.num_labels == len(problem.train)


def test_numbers_are_regressed(problem):
    signal = pgso.apply_pgso(problem.raw, problem.graph, "gcn")[:, 0] + 0.01
    found = find(problem.graph, problem.raw, signal, train=problem.train, test=problem.test)
    assert found.record.metric == "r2"
    assert found.best.test > 0.9
    assert found.predict().shape == (200, 1)
    assert "gcn" in " ".join(found.best.terms)


def test_many_whole_numbers_are_regressed_and_few_are_classes(problem):
    years = 1900.0 + torch.arange(200.0)
    assert find(problem.graph, problem.raw, years, head="ridge").record.metric == "r2"
    with_gaps = problem.y.double()
    with_gaps[:20] = float("nan")
    found = find(problem.graph, problem.raw, with_gaps, head="ridge")
    assert (found.record.metric, found.record.graph.num_labels) == ("accuracy", 180)


def test_several_numbers_are_regressed_together_and_scored_in_their_own_units(problem):
    signal = pgso.apply_pgso(problem.raw, problem.graph, "gcn")[:, :2]
    signal = signal + 0.1 * torch.randn(200, 2, generator=torch.Generator().manual_seed(0))
    y = torch.stack([signal[:, 0], 1000 + 100 * signal[:, 1]], dim=1)
    y[problem.train[:5], 0] = y[problem.val[:3], 1] = float("nan")
    parts = {"train": problem.train, "val": problem.val, "test": problem.test}
    found = find(problem.graph, problem.raw, y, **parts, objective="rmse")
    assert found.record.graph.num_labels == len(problem.train) - 5
    out, truth = found.predict()[problem.test], y[problem.test]
    error = (out - truth).square().mean(dim=0).sqrt().mean()
    assert found.best.test == pytest.approx(float(error), rel=1e-4)
    assert 900 < out[:, 1].mean() < 1100
    assert found.record.rung("no graph").points < 0  # its error is larger


def test_a_rare_class_is_found_where_all_classes_count_alike(problem):
    signal = pgso.apply_pgso(problem.raw, problem.graph, "gcn")[:, 0]
    noise = torch.randn(200, generator=torch.Generator().manual_seed(0)) * 0.3 * signal.std()
    y = (signal + noise > torch.quantile(signal + noise, 0.85)).long()
    asked = {"test": problem.test, "head": "ridge"}  # a blend may lose one of twelve by luck
    plain = find(problem.graph, problem.raw, y, **asked)
    balanced = find(problem.graph, problem.raw, y, objective="balanced accuracy", **asked)
    assert balanced.record.metric == "balanced_accuracy"
    assert balanced.predict().argmax(1).sum() > 2 * plain.predict().argmax(1).sum()
    right = (plain.predict().argmax(1) == y)[problem.test]
    recalls = [right[y[problem.test] == label].double().mean() for label in (0, 1)]
    assert balanced.best.test > sum(recalls) / 2


@pytest.mark.parametrize("objective", ["macro F1", "roc_auc", "average_precision"])
def test_the_objective_scores(objective):
    found = find("karate", objective=objective)
    task = pgso.load_task("karate")
    out, y = found.predict()[task.test].numpy(), task.y[task.test].numpy()
    assert found.best.test == pytest.approx(OBJECTIVES[objective].score(out, y))
    assert found.spec().objective == OBJECTIVES[objective].name
    assert f"--objective {OBJECTIVES[objective].name}" in found.record.command


def test_a_shipped_regression_task_is_found():
    found = find("diabetes")
    assert found.record.metric == "rmse"
    assert found.best.test < 62  # the mean has 77
    lowest = min(rung.loss for rung in found.rungs)
    assert found.best.loss <= 1.05 * lowest


def test_no_features_are_the_identity():
    club = nx.karate_club_graph()
    y = [club.nodes[member]["club"] for member in club]
    found = find(club, None, y)
    assert found.record.graph.num_features == 34
    assert found.best.loo > 0.8


def test_features_that_are_all_alike_count_the_neighbours(problem):
    noise = torch.randn(200, generator=torch.Generator().manual_seed(0))
    found = find(problem.graph, torch.ones(200, 2), problem.graph.degree + noise)
    assert found.predict().isfinite().all()
    assert found.best.terms == ("adjacency",)
    assert "Degrees matter" in found.verdict


@pytest.mark.parametrize("unit", [1e-30, 1e30])
def test_the_unit_of_a_column_does_not_matter(found, problem, unit):
    parts = {"train": problem.train, "val": problem.val}
    other = find(problem.graph, problem.raw * unit, problem.y, **parts)
    assert other.best.name == found.best.name
    assert other.best.loo_loss == pytest.approx(found.best.loo_loss, rel=1e-5)


def test_whole_numbers_are_regressed_if_the_objective_says_so(problem):
    counts = (10 * problem.raw[:, 0].abs()).long()
    of_classes = find(problem.graph, problem.raw, counts, head="ridge")
    assert of_classes.record.metric == "accuracy"
    of_numbers = find(problem.graph, problem.raw, counts, objective="mae", head="ridge")
    assert of_numbers.record.metric == "mae"


def test_few_labels_are_said_to_be_few():
    found = find(nx.path_graph(5), None, [0, 0, 1, 1, 1])
    assert found.best.name == "no graph"
    assert found.verdict.startswith("5 labels are too few to tell a signal from chance")


def test_the_data_that_were_searched_are_at_hand(found):
    task = pgso.load_task("karate")
    assert find(task).task is task
    assert found.task.name == "in memory"


def test_graph_tasks_and_names_work_too():
    task = pgso.load_task("karate")
    assert find("karate").best.name == find(task).best.name


X, Y = torch.eye(6), torch.tensor([0, 1, 0, 1, 0, 1])
EDGES = torch.tensor([[0, 1, 2, 3, 4], [1, 2, 3, 4, 5]])
TOPICS = replace(pgso.load_task("karate"), y=torch.ones(34, 2), metric="multilabel_roc_auc")
WRONG = {
    "no labels": (lambda: find(EDGES, X), "find needs labels"),
    "one class": (lambda: find(EDGES, X, torch.zeros(6).long()), "one class"),
    "two labels": (lambda: find(EDGES, X, Y, train=[0, 1]), "three training labels"),
    "rows": (lambda: find(EDGES, X[:4], Y), "X has 4 rows, y has 6"),
    "overlap": (lambda: find(EDGES, X, Y, train=[0, 1, 2, 3], val=[3]), "must not overlap"),
    "index": (lambda: find(EDGES, X, Y, train=[0, 1, 9]), "index of the training set is 9"),
    "mask": (lambda: find(EDGES, X, Y, train=[True, False]), "masks of 6 nodes, got bool of shape"),
    "words": (lambda: find(EDGES, X, Y, train=["a"]), "indices or masks"),
    "unlabelled": (
        lambda: find(EDGES, X, [0, 1, 0, 1, 0, -1], train=[0, 1, 5]),
        "has no label",
    ),
    "name": (lambda: find("no-such-graph"), "no dataset is called"),
    "option": (lambda: find(EDGES, X, Y, depth=3), "no option 'depth'"),
    "objective": (lambda: find(EDGES, X, list("ababab"), objective="rmse"), "rmse scores numbers"),
    "no columns": (lambda: find(EDGES, X[:, :0], Y), "leave x out"),
    "labels of a task": (lambda: find(TOPICS), "are equal; find needs labels that differ"),
    "labels by classes": (lambda: find(EDGES, X, torch.eye(6), objective="accuracy"), "labels"),
    "links": (lambda: find("karate", task="link"), "asks for links"),
    "constant": (lambda: find(EDGES, X, torch.full((6,), 0.5)), "are equal"),
    "NaN": (lambda: find(EDGES, X * float("nan"), Y), "finite"),
    "inf": (lambda: find(EDGES, X, torch.arange(6) / 0), "y holds inf"),
    "a dataset's split": (lambda: find("karate", train=[0, 1, 2]), "leave out train"),
    "a dataset's features": (lambda: find("karate", torch.eye(34)), "leave out x"),
    "a task's labels": (lambda: find(TOPICS, X, Y), "leave out x and y"),
    "a task's option": (lambda: find(pgso.load_task("karate"), rows=3), "no option 'rows'"),
}


def several_labels(n=300, seed=0):
    """Communities that two of three labels follow; the third one follows nothing."""
    rng = np.random.default_rng(seed)
    community = rng.integers(0, 3, n)
    same = community[:, None] == community
    edges = np.stack(np.nonzero(rng.random((n, n)) < np.where(same, 0.05, 0.004)))
    y = np.stack([community == 0, community < 2, rng.random(n) < 0.5], axis=1).astype(float)
    y[:5, 2] = np.nan
    return (
        edges,
        y,
        {"train": np.arange(150), "val": np.arange(150, 200), "test": np.arange(200, n)},
    )


@pytest.mark.parametrize("many", [False, True])
def test_several_labels_each_are_answered_without_features(monkeypatch, tmp_path, many):
    if many:  # where coordinates of the graph stand for a column per node
        monkeypatch.setattr(problem_module, "MANY_LABELS", 100)
        monkeypatch.setattr(problem_module, "COMPONENTS", 60)
    edges, y, parts = several_labels()
    found = find(edges, y=y, **parts)
    assert found.record.metric == "multilabel_roc_auc"
    assert found.record.signal == "graph"
    said = found.predict()
    assert said.shape == y.shape
    assert ((said >= 0) & (said <= 1)).all()
    score = OBJECTIVES["multilabel_roc_auc"].score(said[200:, :2].numpy(), y[200:, :2])
    assert score > 0.9
    shown = found.record.predictions[0]
    assert set(shown.truth) <= set(found.task.classes)
    nothing = found.record.rung("no graph")
    assert nothing.test == pytest.approx(0.5, abs=0.1)
    with pytest.raises(InputError, match="another graph" if many else "several labels each"):
        found.head() if many else found.save(tmp_path / "model")


def test_several_labels_of_a_task_are_those_of_arrays():
    edges, y, parts = several_labels()
    x = np.random.default_rng(1).normal(size=(300, 4))
    task = pgso.Task.of(torch.from_numpy(edges), x, y, **parts)
    by_task, by_arrays = find(task, head="ridge"), find(edges, x, y, head="ridge", **parts)
    assert by_task.best.name == by_arrays.best.name
    torch.testing.assert_close(by_task.predict(), by_arrays.predict())


def test_heavy_tails_on_hubs_are_judged_by_ranks_too():
    """A few hubs have errors as large as all others together, so that no mean says anything."""
    rng = np.random.default_rng(2)
    n = 600
    weight = rng.random(n) ** -0.6
    chance = weight[:, None] * weight
    edges = np.stack(np.nonzero(np.triu(rng.random((n, n)) < 6 * chance / chance.mean() / n, 1)))
    x = rng.normal(size=(n, 4))
    A = np.zeros((n, n))
    A[edges[0], edges[1]] = A[edges[1], edges[0]] = 1
    sums = A @ np.abs(x).sum(axis=1)
    y = sums**2 * (1 + 0.3 * rng.normal(size=n))
    parts = {"train": np.arange(200), "val": np.arange(200, 300), "test": np.arange(300, n)}
    parts["head"] = "ridge"  # the ladder says what the signal is
    found = find(edges, x, y, **parts)
    assert found.record.signal != "neither"
    assert found.best.name != "no graph"
    shuffled = find(edges, x, rng.permutation(y), **parts)
    assert shuffled.record.signal == "neither"


def test_ranks_of_labels_that_predict_each_other_are_no_evidence():
    """Leave-one-out predictions W y with a symmetric W hold each pair of labels twice."""
    rng = np.random.default_rng(0)
    n, claims = 120, 0
    for _ in range(300):
        W = np.triu(rng.random((n, n)) < 0.05, 1) * rng.normal(size=(n, n))
        y = torch.from_numpy(rng.normal(size=(n, 1)) * rng.random((n, 1)) ** -0.3)
        task = SimpleNamespace(y=y, judges=torch.arange(n))
        before = torch.ones(n, dtype=torch.float64)
        signs = torch.from_numpy(rng.permutation(np.repeat([1.0, -1.0], n // 2)))
        after = before - 0.01 + 0.9 * signs  # a gain that the mean cannot show: ranks decide
        guess = problem_module.Said(before, torch.zeros_like(y))
        noise = problem_module.Said(after, torch.from_numpy((W + W.T) @ y.numpy()))
        claims += problem_module.evidence_of(task, guess, [noise])[0].p < 0.1
    assert claims <= 22  # 15 are expected: ranks have half of the 10 %; uncorrected there are 34


def test_the_verdict_says_how_sure_the_family_is():
    found = find("karate")
    assert sum(found.record.families.values()) == pytest.approx(1)
    share = 100 * found.record.families[found.best.family]
    assert f"choose the same in {share:.0f} %" in found.verdict


@pytest.mark.parametrize("case", WRONG)
def test_bad_input_is_refused_in_one_sentence(case):
    call, message = WRONG[case]
    with pytest.raises(InputError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", ["dense", "sparse", "many labels", "many labels, sparse"])
def test_another_graph_gets_the_same_weights(problem, kind, monkeypatch):
    x = problem.raw
    if "many" in kind:
        monkeypatch.setattr(problem_module, "MANY_LABELS", 10)
        monkeypatch.setattr(problem_module, "COMPONENTS", 4)
    if "sparse" in kind:
        x = scipy.sparse.csr_array(problem.raw.relu().numpy())
    found = find(problem.graph, x, problem.y, train=problem.train)
    again = found.predict(problem.graph.edge_index, x)
    torch.testing.assert_close(again, found.predict(), rtol=1e-4, atol=1e-5)
    lonely = found.predict(scipy.sparse.coo_array((100, 100)), x[np.arange(100)])  # no edge
    assert lonely.shape == (100, 3)
    assert lonely.isfinite().all()


def test_what_does_not_fit_the_head_is_refused(found, problem):
    with pytest.raises(InputError, match="give both or neither"):
        found.predict(problem.graph)
    with pytest.raises(InputError, match="x has 3 columns, the head takes 8"):
        found.predict(problem.graph, problem.raw[:, :3])


def test_edges_by_their_kind_have_rungs_of_their_own():
    """Labels follow the neighbours by one relation; the other is noise."""
    n, random = 240, np.random.default_rng(0)
    y = random.integers(0, 2, n)
    like, other = (random.random((n, n)) < rate for rate in (0.04, 0.2))
    like &= y[:, None] == y
    kinds = {"likes": like | like.T, "meets": other | other.T}
    relations = pgso.Relations({name: pgso.Graph.from_dense(A) for name, A in kinds.items()})
    parts = {"train": range(120), "val": range(120, 180), "test": range(180, n)}
    found = find(relations, y[:, None] + random.normal(size=(n, 3)), y, **parts)
    assert any(term.endswith("@likes") for term in found.best.terms)
    with pytest.raises(InputError, match="240"):
        find(relations, None, y[:100])


def test_data_without_labels_are_refused(tmp_path):
    (tmp_path / "edges.csv").write_text("source,target\na,b\nb,c\n")
    with pytest.raises(InputError, match="was loaded without labels"):
        find(pgso.load_task(tmp_path, unlabelled=True))


def test_a_column_beside_its_square_is_used_with_all_its_digits():
    rng = np.random.default_rng(0)
    edges = rng.integers(0, 180, (2, 300))
    year = rng.integers(1990, 2021, 180).astype(float)
    y = (year - 2005) ** 2 / 50 + 0.1 * rng.normal(size=180)
    x = np.stack([year, year**2], axis=1)
    both = np.concatenate([edges, edges[::-1]], axis=1)
    found = find(both, x, y, train=np.arange(130), test=np.arange(130, 180))
    assert found.best.test == pytest.approx(found.best.loo, abs=0.1)
    assert found.best.name == "no graph"


def as_data(problem):
    masks = {}
    for name in ("train", "val", "test"):
        masks[f"{name}_mask"] = torch.zeros(len(problem.y), dtype=torch.bool)
        masks[f"{name}_mask"][getattr(problem, name)] = True
    return Data(x=problem.raw, edge_index=problem.graph.edge_index, y=problem.y, **masks)


def test_parts_that_are_given_go_before_the_masks_of_the_data(problem):
    data, some = as_data(problem), problem.test[:10]
    searched = find(data, test=some)._ladder.problem
    assert searched.test.tolist() == some.tolist()
    assert searched.train.tolist() == sorted(problem.train.tolist())
    judged = find(data, val=problem.train[:5])._ladder.problem
    assert judged.val.tolist() == problem.train[:5].tolist()
    assert len(judged.train) == len(problem.train) - 5


def test_features_count_the_same_however_they_are_stored(problem):
    words = (torch.rand(200, 80, generator=torch.Generator().manual_seed(0)) < 0.05).float()
    forms = [words, scipy.sparse.csr_array(words.numpy()), words.to_sparse_csr()]
    parts = {"train": problem.train, "val": problem.val, "head": "ridge"}  # what rungs see
    losses = [find(problem.graph, x, problem.y, **parts).best.loo_loss for x in forms]
    narrow = problem.raw[:, :1]
    dense, sparse = (
        find(problem.graph, x, problem.y, **parts).best.loo_loss
        for x in (narrow, narrow.to_sparse_csr())
    )
    assert losses == [losses[0]] * 3
    assert dense == sparse
    data = as_data(problem)
    data.x = words
    of_task = find(pgso.Task.from_data(data), head="ridge").rungs
    assert [r.loo_loss for r in find(data, head="ridge").rungs] == [r.loo_loss for r in of_task]


def test_numbers_with_one_that_is_none_are_numbers(problem):
    y = problem.raw[:, 0].double().tolist()
    y[3] = None
    assert find(problem.graph, problem.raw, y, head="ridge").record.metric == "r2"
    classes = problem.y.tolist()
    classes[3] = None
    assert find(problem.graph, problem.raw, classes, head="ridge").record.metric == "accuracy"
    with pytest.raises(InputError, match="complex"):
        find(problem.graph, problem.raw, np.ones(200) * 1j)


def test_a_shift_of_the_targets_shifts_the_predictions():
    task = pgso.load_task("diabetes")
    x, y = task.x.numpy(), task.y.double().numpy()[:, 0]
    plain, far = (find(task.graph, x, y + z).predict() for z in (0.0, 1.7e9))
    torch.testing.assert_close(far - 1.7e9, plain.double(), atol=1e-3, rtol=0)


def test_a_refit_uses_validation_labels_and_has_no_scores_to_show(found, problem):
    again = found.refit()
    assert len(again._ladder.problem.train) == len(problem.train) + len(problem.val)
    assert (again.best.name, again.best.head) == (found.best.name, found.best.head)
    assert again.best.val is None
    assert again.best.test is None
    right = (again.predict().argmax(dim=1) == problem.y)[problem.test].double().mean()
    before = (found.predict().argmax(dim=1) == problem.y)[problem.test].double().mean()
    assert right > before - 0.05
    assert not torch.equal(again.predict(), found.predict())


def test_a_refit_leaves_out_what_lacks_one_of_several_numbers(problem):
    y = problem.raw[:, :2].double().numpy().copy()
    y[problem.val[:5].numpy(), 1] = np.nan
    again = find(problem.graph, problem.raw, y, train=problem.train, val=problem.val).refit()
    assert len(again._ladder.problem.train) == len(problem.train) + len(problem.val) - 5
    assert again.predict().isfinite().all()


def test_the_columns_of_the_kept_rung_are_a_named_frame(found, problem):
    table = found.columns()
    assert table.shape == (200, 9)
    assert list(table.columns[[0, -1]]) == ["gcn² x: column 0", "gcn² x: 1"]
    gcn = pgso.shift(problem.graph, "gcn")
    expected = gcn @ (gcn @ problem.x)
    np.testing.assert_allclose(table.to_numpy(), expected, rtol=1e-4, atol=1e-5)


def test_wide_features_are_reduced_without_a_square_of_their_columns(monkeypatch):
    monkeypatch.setattr(columns_module, "EXACT", 20)
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(80, 3, generator=generator) @ torch.randn(3, 40, generator=generator)
    monkeypatch.setattr(torch.linalg, "eigh", None)
    components, centred = components_of(x, 3), standardised(x)
    torch.testing.assert_close(
        components @ components.t(), centred @ centred.t(), atol=1e-2, rtol=1e-2
    )


def test_columns_are_values_where_labels_are_fewer_than_features():
    found = find("karate")
    assert found.columns().shape == (34, 35)  # and the column of ones
    gcn = pgso.shift(found.task.graph, "gcn").to_dense()
    expected = found._ladder.problem.x
    for _ in range(found.best.hops):
        expected = gcn @ expected
    np.testing.assert_allclose(found.columns().to_numpy(), expected, rtol=1e-4, atol=1e-5)


def test_a_frame_beside_a_graph_is_prepared_on_training_rows():
    rng = np.random.default_rng(0)
    spend = np.where(np.arange(60) < 30, rng.normal(size=60), 1000.0)
    spend[::5] = np.nan
    edges, y = rng.integers(0, 60, (2, 150)), rng.integers(0, 2, 60)
    x = pd.DataFrame({"spend": spend, "plan": rng.choice(list("abc"), 60)})
    found = pgso.find(edges, x=x, y=y, train=np.arange(30), test=np.arange(30, 60))
    column = found.task.preparation.columns[0]
    assert column.fill == pytest.approx(np.nanmedian(spend[:30]))
