"""What matters to a model: columns and edges with a known role."""

from dataclasses import replace

import pytest
import torch
from torch_geometric.data import Data

import pgso
from pgso.data import load_task
from pgso.errors import InputError
from pgso.evaluation.importance import edge_importance, explain
from pgso.training.fit import fit_task
from pgso.training.session import take_best


def fitted(data, **choices):
    spec = pgso.RunSpec(dataset="in memory", hidden_channels=16, **choices)
    session, _ = fit_task(spec, data)
    return take_best(session)


@pytest.fixture(scope="module")
def told():
    """Nodes that one neighbour of four tells their class."""
    generator = torch.Generator().manual_seed(0)
    n = 120
    y = torch.randint(0, 2, (n,), generator=generator)
    x = torch.zeros(5 * n, 3)
    x[:, 2] = 1
    tellers = n + 4 * torch.arange(n)
    x[tellers, 0], x[tellers, 1] = 2.0 * y - 1, 1.0
    source = (tellers[:, None] + torch.arange(4)).flatten()
    edges = torch.stack([source, torch.arange(n).repeat_interleave(4)])
    parts = torch.randperm(n, generator=generator).split([60, 30, 30])
    masks = [torch.zeros(5 * n, dtype=torch.bool).index_fill(0, part, True) for part in parts]
    data = Data(
        x=x,
        edge_index=torch.cat([edges, edges.flip(0)], dim=1),
        y=torch.cat([y, torch.zeros(4 * n, dtype=torch.long)]),
        **dict(zip(("train_mask", "val_mask", "test_mask"), masks, strict=True)),
    )
    task = pgso.Task.from_data(data)
    model = fitted(task, epochs=200, lr=0.05, dropout=0.0, weight_decay=0.0)
    return model, task


def test_the_edges_that_tell_the_class_are_found(told):
    model, task = told
    edges = edge_importance(model, task, task.val)
    first = edges[: len(task.val)]
    assert all((int(edge.target) - 120) % 4 == 0 for edge in first)
    assert {int(edge.source) for edge in first} == set(task.val.tolist())
    assert edges[0].importance == 1
    assert first[-1].importance > 5 * edges[len(first)].importance


def test_the_column_that_tells_the_class_is_the_one_that_matters(told):
    model, task = told
    explanation = explain(model, task, {}, repeats=10)
    features = explanation.features
    assert (explanation.score, explanation.left_out) == (1.0, 0)
    assert features[0].name == "feature 0"
    assert features[0].matters
    assert features[0].low > 0
    by_name = {entry.name: entry for entry in features}
    assert by_name["feature 2"].loss == 0  # it is the same everywhere


def test_the_columns_that_make_customers_leave_are_found():
    task = load_task("customers", signal="features", size=1200)
    model = fitted(task, epochs=40, residual=True)
    features = explain(model, task, {}, repeats=3).features
    names = [entry.name for entry in features]
    reasons = {"complaints", "contract", "since", "income", "newsletter"}
    assert {*names[:3]} <= reasons
    assert "customer_id" not in names


def test_named_items_have_their_own_edges_and_unknown_ones_are_refused():
    task = load_task("karate")
    model = fitted(task, epochs=5)
    explanation = explain(model, task, {}, ["11"])
    assert explanation.edges
    assert any("11" in (edge.source, edge.target) for edge in explanation.edges)
    reach = {"0", "11"}  # two hops: node 11 has one neighbour
    assert all({edge.source, edge.target} & reach for edge in explanation.edges)
    assert explanation.features == ()
    assert "every node has a column of its own" in explanation.notes[0]
    with pytest.raises(InputError, match="has no item called 'nobody'"):
        explain(model, task, {}, ["nobody"])


def test_numbers_are_explained_too_and_links_have_no_edges_to_explain():
    task = load_task("diabetes")
    spec = pgso.RunSpec(dataset="diabetes", epochs=20, hidden_channels=16)
    session, _ = fit_task(spec, task)
    header = {"scale": vars(session.criterion.scale)}
    explanation = explain(take_best(session), task, header, repeats=2)
    assert explanation.items == "89 nodes of the validation set"
    assert explanation.notes == ()
    assert explanation.edges
    assert explanation.score == pytest.approx(min(session.curves["val"]), rel=1e-4)
    assert {entry.name for entry in explanation.features[:4]} & {"bmi", "s5"}
    links = load_task("karate", task="link")
    none = explain(fitted(links, task="link", epochs=2), links, {}, repeats=2)
    assert none.edges == ()
    assert any("links" in note or "link models" in note for note in none.notes)


def test_the_relation_that_tells_the_class_is_the_one_that_matters(tmp_path):
    generator = torch.Generator().manual_seed(0)
    lines = [f"n{i},n{(i + 2) % 240},tells\n" for i in range(240)]  # neighbours of the same class
    ends = torch.randint(0, 240, (240, 2), generator=generator).tolist()
    lines += [f"n{a},n{b},noise\n" for a, b in ends if a != b]
    (tmp_path / "edges.csv").write_text("source,target,relation\n" + "".join(lines))
    x = torch.randn(240, generator=generator) + torch.arange(240) % 2
    (tmp_path / "features.csv").write_text(
        "node,x\n" + "".join(f"n{i},{v:.3f}\n" for i, v in enumerate(x))
    )
    (tmp_path / "labels.csv").write_text(
        "node,label\n" + "".join(f"n{i},{i % 2}\n" for i in range(240))
    )
    task = load_task(tmp_path)
    model = fitted(task, conv="bank", terms=("mean@tells", "mean@noise"), epochs=60, dropout=0.0)
    explanation = explain(model, task, {}, repeats=20)
    first, second = explanation.relations
    assert (first.name, second.name) == ("tells", "noise")
    assert (first.matters, second.matters) == (True, False)
    assert second.loss < first.loss / 2
    assert not explanation.edges
    assert "several relations: for that, train on" in " ".join(explanation.notes)


def test_of_many_columns_those_with_large_gradients_are_shuffled():
    generator = torch.Generator().manual_seed(1)
    n = 90
    y = torch.randint(0, 2, (n,), generator=generator)
    x = torch.randn(n, 60, generator=generator)
    x[:, 47] = 4.0 * y - 2
    ring = torch.arange(n)
    data = Data(x=x, edge_index=torch.stack([ring, ring]), y=y)
    task = pgso.Task.from_data(data)
    explanation = explain(fitted(task, epochs=100), task, {}, repeats=2)
    assert (explanation.features[0].name, explanation.left_out) == ("feature 47", 20)


def test_edges_of_graphs_are_those_inside_them():
    ring = torch.arange(4)
    edges = torch.stack([torch.cat([ring, ring.roll(1)]), torch.cat([ring.roll(1), ring])])
    graphs = [
        Data(x=torch.full((4, 2), float(k % 2)), edge_index=edges, y=torch.tensor([k % 2]))
        for k in range(20)
    ]
    task = pgso.Task.from_data(graphs)
    explanation = explain(fitted(task, epochs=2, task="graph"), task, {}, ["3"], repeats=2)
    assert {edge.source for edge in explanation.edges} <= {"12", "13", "14", "15"}
    assert len(explanation.edges) == 4
    assert len(explanation.features) == 2


def test_of_many_columns_of_graphs_and_links_those_with_large_gradients_are_shuffled():
    generator = torch.Generator().manual_seed(1)
    ring = torch.arange(4)
    edges = torch.stack([torch.cat([ring, ring.roll(1)]), torch.cat([ring.roll(1), ring])])
    graphs = []
    for k in range(60):
        x = torch.randn(4, 60, generator=generator)
        x[:, 47] = 4.0 * (k % 2) - 2
        graphs.append(Data(x=x, edge_index=edges, y=torch.tensor([k % 2])))
    task = pgso.Task.from_data(graphs)
    model = fitted(task, epochs=20, task="graph", norm="batch")
    explanation = explain(model, task, {}, repeats=2)
    assert (explanation.features[0].name, explanation.left_out) == ("feature 47", 20)

    whole = load_task("digits", task="link")
    explanation = explain(fitted(whole, epochs=5, task="link"), whole, {}, repeats=2)
    shuffled = {entry.name for entry in explanation.features}
    assert (len(shuffled), explanation.left_out) == (40, 24)
    assert not {"feature 0", "feature 32", "feature 39"} & shuffled  # margins, always 0


def test_without_a_score_on_validation_no_column_is_shuffled():
    task = load_task("customers", size=200)
    model = fitted(task, epochs=2)
    of_one_class = replace(task, val=task.val[task.y[task.val] == 0])
    explanation = explain(model, of_one_class, {}, ["0"], repeats=2)
    assert (explanation.score, explanation.features) == (None, ())
    assert "ROC-AUC has no value" in " ".join(explanation.notes)


def noisy_task(seed, noise=34, n=400):
    """Two columns that tell the class and 34 that do not, on a graph of like with like."""
    generator = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 2, (n,), generator=generator)
    ends = torch.randint(0, n, (2, 6 * n), generator=generator)
    likes = y[ends[0]] == y[ends[1]]
    edges = ends[:, torch.rand(6 * n, generator=generator) < torch.where(likes, 0.5, 0.1)]
    x = torch.randn(n, 2 + noise, generator=generator)
    x[:, 0] += 1.5 * y
    x[:, 1] += y
    data = Data(x=x, edge_index=torch.cat([edges, edges.flip(0)], dim=1), y=y)
    return pgso.Task.from_data(data, seed)


def test_of_200_columns_of_noise_at_most_one_in_twenty_matters():
    called, told = 0, 0
    for seed in range(6):
        task = noisy_task(seed)
        model = fitted(task, epochs=60, seed=seed)
        for entry in explain(model, task, {}, ["0"]).features:
            is_noise = entry.name not in ("feature 0", "feature 1")
            assert entry.matters == (entry.p <= 0.05 and entry.loss > 0)
            assert entry.matters or entry.low <= 0
            called += is_noise and entry.matters
            told += not is_noise and entry.matters
    assert called <= 10
    assert told >= 8  # of 12 columns that do tell the class


def test_edges_that_all_add_the_same_are_said_to_tie():
    from pgso.objectives import OBJECTIVES
    from pgso.records.record import EdgeImportance, Explanation
    from pgso.report.evaluation import explanation_grids

    edges = [EdgeImportance(source="a", target=name, importance=1.0) for name in "bcd"]
    explanation = Explanation(score=None, repeats=2, edges=tuple(edges), items="1 node")
    assert (
        "The first 3 edges tie."
        in explanation_grids(explanation, OBJECTIVES["accuracy"])[2].caption
    )
