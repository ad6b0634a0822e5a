"""Frames in memory, and the same table in five forms: the same task, spec and finding."""

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pgso import PGSOClassifier, RunSpec, Task, find, load_task
from pgso.errors import InputError

N = 40


def frames(seed=0, n=N, ids="words"):
    rng = np.random.default_rng(seed)
    names = [f"c{i}" for i in range(n)] if ids == "words" else (100 + 3 * np.arange(n)).tolist()
    nodes = pd.DataFrame(
        {
            "customer": names,
            "income": rng.lognormal(3, 1, n).round(3),
            "age": np.where(rng.random(n) < 0.2, np.nan, rng.integers(18, 80, n)),
            "city": rng.choice(["Nice", "Lyon", "Saint-Étienne"], n),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 999, n), "D"),
            "member": rng.random(n) < 0.5,
        }
    )
    nodes.loc[rng.random(n) < 0.2, "city"] = None
    nodes["left"] = np.where(nodes["income"] > nodes["income"].median(), "yes", "no")
    pairs = rng.integers(0, n, (3 * n, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    edges = pd.DataFrame(
        {"from": [names[i] for i, _ in pairs], "to": [names[j] for _, j in pairs]}
    ).drop_duplicates()
    keep = ~edges.apply(lambda r: tuple(sorted(map(str, r))), axis=1).duplicated()
    edges = edges[keep].reset_index(drop=True)
    return nodes.sample(frac=1, random_state=seed).reset_index(drop=True), edges.assign(
        weight=rng.uniform(0.5, 2, len(edges)).round(2)
    )


def write(folder, nodes, edges, form):
    folder.mkdir()
    for name, frame in (("features", nodes), ("edges", edges)):
        if form == "parquet":
            frame.to_parquet(folder / f"{name}.parquet")
        else:
            separator, decimal = {"csv": ",.", "tsv": "\t.", "semicolon": ";,"}[form]
            frame.to_csv(folder / f"{name}.csv", sep=separator, decimal=decimal, index=False)
    return folder


def in_every_form(folder, seed, ids):
    """A task from frames, and from files of four kinds."""
    nodes, edges = frames(seed, ids=ids)
    tasks = [Task.from_frames(nodes, edges, target="left")]
    for form in ("csv", "tsv", "semicolon", "parquet"):
        tasks.append(load_task(write(folder / form, nodes, edges, form), target="left"))
    return tasks


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 99), ids=st.sampled_from(["words", "numbers"]))
def test_the_same_table_is_the_same_task(tmp_path_factory, seed, ids):
    first, *others = in_every_form(tmp_path_factory.mktemp("forms"), seed, ids)
    assert {c.name: c.kind for c in first.preparation.columns} == {
        "income": "number", "age": "number", "city": "category", "since": "date",
        "member": "boolean",
    }  # fmt: skip
    for task in others:
        assert (task.ids, task.columns, task.classes) == (first.ids, first.columns, first.classes)
        assert task.preparation == first.preparation
        assert torch.equal(task.x, first.x)
        assert torch.equal(task.y, first.y)
        for part in ("train", "val", "test"):
            assert torch.equal(getattr(task, part), getattr(first, part))
        assert torch.equal(task.graph.edge_index, first.graph.edge_index)
        assert torch.equal(task.graph.edge_weight, first.graph.edge_weight)


@pytest.mark.parametrize("ids", ["words", "numbers"])
def test_the_same_table_is_the_same_spec_and_finding(tmp_path, ids):
    first, *others = [find(task) for task in in_every_form(tmp_path, 0, ids)]
    for finding in others:
        assert finding.best.name == first.best.name
        assert finding.best.loo == first.best.loo
        spec, other = finding.record.spec, first.record.spec
        assert {k: v for k, v in spec.items() if k != "dataset"} == {
            k: v for k, v in other.items() if k != "dataset"
        }


def test_a_spec_of_a_folder_is_the_same_in_every_form(tmp_path):
    nodes, edges = frames()
    specs = [
        RunSpec(
            dataset=str(write(tmp_path / form, nodes, edges, form)), data_options={"target": "left"}
        )
        for form in ("csv", "parquet")
    ]
    assert specs[0].but(dataset="x") == specs[1].but(dataset="x")


def test_frames_may_have_a_key_an_index_a_split_and_kinds():
    nodes, edges = frames()
    plain = Task.from_frames(nodes, edges, target="left")
    indexed = Task.from_frames(nodes.set_index("customer"), edges, target="left")
    assert torch.equal(plain.x, indexed.x)
    part = pd.Series(["train"] * 20 + ["val"] * 10 + ["test"] * 10, name="used")
    task = Task.from_frames(
        nodes.assign(used=part),
        edges,
        target="left",
        key="customer",
        split="used",
        positive="yes",
        objective="average_precision",
        kinds={"age": "leave out"},
    )
    assert (len(task.train), len(task.val), len(task.test)) == (20, 10, 10)
    assert not any(name.startswith(("age", "used")) for name in task.columns)
    assert (task.positive, task.metric) == ("yes", "average_precision")


def test_several_columns_of_a_frame_are_numbers():
    nodes, edges = frames()
    task = Task.from_frames(nodes.drop(columns="left"), edges, target=["income", "age"])
    assert (task.targets, task.metric) == (("income", "age"), "rmse")
    assert task.columns[0].startswith("city")
    one = Task.from_frames(nodes.drop(columns="left"), edges, target="income")
    assert one.targets == ("income",)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"target": "leaves"}, "nodes has no column 'leaves'; it has customer, income"),
        ({"target": "left", "key": "id"}, "nodes has no column 'id'"),
        ({"target": "left", "split": "part"}, "nodes has no column 'part'"),
        ({"target": "left", "key": "city"}, "line .* was described in line|expected the name of a"),
    ],
)
def test_a_column_that_is_not_there_is_named(change, problem):
    with pytest.raises(InputError, match=problem):
        Task.from_frames(*frames(), **change)


def test_a_task_is_made_of_anything(tmp_path):
    nodes, edges = frames()
    assert Task.of("karate").num_nodes == 34
    task = Task.of(Task.of("karate"), objective="macro_f1")
    assert task.metric == "macro_f1"
    folder = write(tmp_path / "csv", nodes, edges, "csv")
    assert Task.of(folder, target="left").num_nodes == N
    assert Task.of((nodes, edges), target="left").num_nodes == N
    graph = torch.tensor([[0, 1, 2], [1, 2, 0]])
    assert Task.of((graph, torch.eye(3), [0, 1, 0])).num_features == 3
    split = Task.of(graph, y=[0.5, 1.5, 9.0], train=[0, 2], val=[1])
    assert (split.train.tolist(), split.val.tolist(), split.test.tolist()) == ([0, 2], [1], [])
    with pytest.raises(InputError, match="leave out y, or give a graph"):
        Task.of("karate", y=[1])
    with pytest.raises(InputError, match="a task needs y"):
        Task.of(graph, torch.eye(3))


def test_features_of_a_graph_may_be_a_frame():
    nodes, _ = frames()
    ring = np.stack([np.arange(N), (np.arange(N) + 1) % N])
    task = Task.of(ring, nodes.drop(columns=["customer", "left"]), nodes["left"])
    assert "city=Nice" in task.columns
    assert task.gaps["city"] > 0


@pytest.mark.parametrize("head", ["trained", "closed_form"])
def test_estimators_take_frames_with_words_dates_and_gaps(head):
    nodes, _ = frames()
    X = nodes.drop(columns=["customer", "left"]).set_index(pd.Index(range(7, 7 + N)))
    ring = np.stack([np.arange(N), (np.arange(N) + 1) % N])
    model = PGSOClassifier(epochs=3, head=head).fit(ring, X, nodes["left"])
    assert model.n_features_in_ == 5
    assert list(model.feature_names_in_) == list(X.columns)
    np.testing.assert_array_equal(model.predict(ring, X), model.predict())
    other = X.assign(city="Brest")
    assert model.predict_proba(ring, other).shape == (N, 2)
    with pytest.raises(InputError, match="columns of X must be those that fit saw"):
        model.predict(ring, X[X.columns[::-1]])
    with pytest.raises(InputError, match="fitted with a frame"):
        model.predict(ring, np.zeros((N, 5)))


@pytest.mark.parametrize("given", [1, "x", [[0, 1]]])
def test_what_is_no_frame_is_named(given):
    nodes = pd.DataFrame({"id": [0, 1, 2], "y": ["a", "b", "a"]})
    with pytest.raises(InputError, match="DataFrame"):
        Task.from_frames(nodes, given, target="y")
