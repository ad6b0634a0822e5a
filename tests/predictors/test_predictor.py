"""What was found or trained predicts again, on new nodes, new graphs and the same data."""

import json
import tempfile
from pathlib import Path

import numpy as np
import pandas
import pytest
import torch
from torch_geometric.data import Data

import pgso
from pgso.cli.predict import ranked
from pgso.errors import InputError
from tests.finding.problems import GCN, generated
from tests.predictors.planted import customers, write


@pytest.fixture(scope="module", params=["leaves", "spends"])
def found(request, tmp_path_factory):
    """A folder, what find found in it, the saved model, and what arrives later."""
    folder, target = tmp_path_factory.mktemp("shop"), request.param
    nodes, edges, new, links = customers(300, 20, numbers=target == "spends")
    write(folder / "old", nodes, edges)
    write(folder / "new", new.drop(columns=target), links)
    write(folder / "whole", pandas.concat([nodes, new]), pandas.concat([edges, links]))
    finding = pgso.find(folder / "old", target=target)
    return folder, finding, pgso.load(finding.save(folder / "model")), (new, links)


def numbers(frame):
    columns = [name for name in frame if name.startswith("p(") or name == "spends"]
    return frame[columns].to_numpy(dtype=np.float64)


def test_the_same_folder_gives_what_was_found(found):
    folder, finding, model, _ = found
    again = model.predict(folder / "old")
    assert list(again.index) == list(finding.task.ids)
    assert np.array_equal(numbers(again), finding.predict().double().numpy())
    assert np.array_equal(numbers(model.predict()), numbers(again))
    assert set(again["split"]) == {"train", "val", "test"}


@pytest.mark.parametrize("target", ["id", "rank"])
def test_a_target_that_is_called_as_a_column_of_predictions(tmp_path, target):
    nodes, edges, new, links = customers(100, 4, numbers=True)
    task = pgso.Task.from_frames(
        nodes.rename(columns={"spends": target}), edges, target, "customer"
    )
    model = pgso.load(pgso.find(task).save(tmp_path / "model"))
    table = model.predict(new.drop(columns="spends"), links)
    assert list(table.index) == list(new["customer"])
    assert list(table)[:2] == [f"predicted {target}", f"predicted {target} low 90"]
    ordered = ranked(table.reset_index(), f"predicted {target}")
    assert list(ordered)[:2] == ["rank", "id"]


def test_new_rows_and_their_edges_are_enough(found):
    folder, _, model, (new, links) = found
    alone = model.predict(folder / "new")
    assert list(alone.index) == list(new["customer"])
    whole = model.predict(folder / "whole").loc[alone.index]
    assert np.array_equal(numbers(alone), numbers(whole))
    frames = model.predict(new, links)
    assert frames.equals(model.predict((new, links)))
    assert np.array_equal(numbers(frames), numbers(alone))


def test_a_node_without_edges_is_predicted(found):
    _, _, model, (new, links) = found
    lonely = model.predict(new)
    assert list(lonely.index) == list(new["customer"])
    assert model.predict(new, links[:0]).equals(lonely)
    one = model.predict(new[:1])
    assert np.allclose(numbers(one), numbers(lonely[:1]), atol=1e-6)


def test_tensors_give_a_tensor(found):
    _, finding, model, _ = found
    task = finding.task
    out = model.predict(task.graph, task.x)
    assert torch.equal(out, finding.predict(task.graph, task.x))
    data = Data(x=task.x, edge_index=task.graph.edge_index, edge_weight=task.graph.edge_weight)
    assert torch.equal(out, model.predict(data))
    with pytest.raises(InputError, match="number of features is 7, but in memory has 3"):
        model.predict(task.graph, task.x[:, :3])


def test_the_models_own_nodes_are_known_without_names_too(tmp_path):
    """A rung that hears the labels of neighbours says the same of tensors as of the folder."""
    rng = np.random.default_rng(0)
    n = 300
    group = rng.integers(0, 2, n)
    edges = rng.integers(0, n, (2, 6 * n))
    edges = edges[:, (group[edges[0]] == group[edges[1]]) | (rng.random(6 * n) < 0.05)]
    nodes = pandas.DataFrame({"id": [f"c{i}" for i in range(n)], "noise": rng.normal(size=n)})
    nodes["club"] = np.array(["red", "blue"])[group]
    names = nodes["id"].to_numpy()
    frame = pandas.DataFrame({"source": names[edges[0]], "target": names[edges[1]]})
    finding = pgso.find(pgso.Task.from_frames(nodes, frame, target="club", key="id"))
    assert "labels" in finding.best.name
    model, task = pgso.load(finding.save(tmp_path / "model")), finding.task
    graph = task.graph
    data = Data(x=task.x, edge_index=graph.edge_index, edge_weight=graph.edge_weight)
    for said in (model.predict(graph, task.x), model.predict(data)):
        assert torch.equal(said, finding.predict())
    assert not torch.equal(model.predict(graph, task.x + 1), finding.predict())  # other nodes


def test_bad_rows_are_refused_by_name_or_skipped_and_listed(found, tmp_path):
    _, _, model, (new, links) = found
    broken = new.astype(object)
    broken.iloc[3, 3] = "yesterday"
    folder = write(tmp_path / "broken", broken, links)
    with pytest.raises(
        InputError, match=r"line 5: column 'since'.*'yesterday'; .*such as 2024-12-31"
    ):
        model.predict(folder)
    left = model.predict(folder, skip_bad_rows=True)
    assert list(left.index) == [name for k, name in enumerate(new["customer"]) if k != 3]
    assert any("line 5" in note for note in model.asked(folder, skip_bad_rows=True).notes)


def test_an_edge_to_a_stranger_is_refused(found):
    _, _, model, (new, links) = found
    more = pandas.concat([links, pandas.DataFrame({"source": ["c301"], "target": ["nobody"]})])
    with pytest.raises(InputError, match="node 'nobody' is in no other file"):
        model.predict(new, more)


def test_an_edge_that_is_listed_again_is_not_counted_twice(found):
    folder, _, model, (new, links) = found
    old = pandas.read_csv(folder / "old" / "edges.csv")
    together = old.groupby(["source", "target"]).size()
    once = together[together == 1].index[0]
    again = pandas.concat([links, pandas.DataFrame([once], columns=["source", "target"])])
    reverse = {(t, s) for s, t in zip(old["source"], old["target"], strict=True)}
    if once not in reverse:
        assert np.array_equal(
            numbers(model.predict(new, again)), numbers(model.predict(new, links))
        )


def test_sets_hold_the_truth_as_often_as_they_say():
    held, sizes = [], []
    for seed in range(3):
        nodes, edges, new, links = customers(300, 100, seed)
        task = pgso.Task.from_frames(nodes, edges, target="leaves", key="customer")
        sets = saved(pgso.find(task, head="ridge")).sets(new, links, coverage=0.8)
        assert list(sets.index) == list(new["customer"])
        held += [truth in some for truth, some in zip(new["leaves"], sets, strict=True)]
        sizes += sets.map(len).tolist()
    assert 0.72 < np.mean(held) < 0.92  # 0.8, and the error of 180 labels that make the sets
    assert np.mean(sizes) < 1.6


def test_intervals_hold_the_truth_as_often_as_they_say():
    held = []
    for seed in range(3):
        nodes, edges, new, links = customers(300, 100, seed, numbers=True)
        task = pgso.Task.from_frames(nodes, edges, target="spends", key="customer")
        ends = saved(pgso.find(task, head="ridge")).sets(new, links, coverage=0.8)
        truth = new["spends"].to_numpy()
        held += ((ends["spends low"] <= truth) & (truth <= ends["spends high"])).tolist()
    assert 0.72 < np.mean(held) < 0.88


def saved(finding):
    return pgso.load(finding.save(Path(tempfile.mkdtemp()) / "model"))


def test_a_new_node_that_is_named_twice_is_refused(found):
    _, _, model, (new, _) = found
    name = new.columns[0]
    with pytest.raises(InputError, match=f"'{new[name].iloc[0]}'"):
        model.predict(pandas.concat([new, new.iloc[:1]]))


def test_coverage_is_a_share(found):
    _, _, model, (new, links) = found
    with pytest.raises(InputError, match="coverage must be above 0 and below 1"):
        model.sets(new, links, coverage=90)


@pytest.mark.parametrize("head", ["ridge", "blend", "boosted"])
def test_every_head_is_saved_to_the_digit(head, tmp_path):
    if head == "boosted":  # a tree for each of three classes
        data = generated((GCN,), nodes=200)
        found = pgso.find(data.graph, data.raw, data.y, head=head)
    else:
        found = pgso.find("karate", head=head)
    model = pgso.load(found.save(tmp_path / "model"))
    task = found.task
    assert torch.equal(model.predict(task.graph, task.x), found.predict(task.graph, task.x))
    assert not list(tmp_path.rglob("*.pkl"))


def test_trees_are_scikit_learns_to_the_digit(tmp_path):
    found = pgso.find("diabetes", head="boosted")
    trees = found._head.trees
    columns = np.random.default_rng(0).normal(size=(300, trees.models[0].n_features_in_))
    assert np.array_equal(
        found.head().trees(columns.astype(np.float32)), trees(columns.astype(np.float32))
    )


def test_a_model_of_graphs_predicts_other_graphs(tmp_path):
    rng = np.random.default_rng(0)

    def ring(k):
        n = int(rng.integers(5, 12))
        chords = rng.integers(0, n, (2, n if k else 1))
        around = np.stack([np.arange(n), np.roll(np.arange(n), 1)])
        edges = torch.from_numpy(np.concatenate([around, chords], axis=1))
        return Data(edge_index=torch.cat([edges, edges.flip(0)], dim=1), x=torch.ones(n, 1), y=k)

    graphs = [ring(k % 2) for k in range(120)]
    found = pgso.find(graphs)
    model = pgso.load(found.save(tmp_path / "model"))
    assert torch.allclose(model.predict(graphs), found.predict(), atol=1e-6)
    new = [ring(k % 2) for k in range(50)]
    right = (model.predict(new).argmax(dim=1) == torch.tensor([g.y for g in new])).float().mean()
    assert right > 0.8
    assert torch.allclose(model.predict(new[0]), model.predict(new)[:1], atol=1e-6)


def test_nodes_without_features_are_known_by_their_neighbours(tmp_path):
    rng = np.random.default_rng(0)
    side = np.repeat(["left", "right"], 50)
    pairs = [
        (i, j)
        for i in range(100)
        for j in range(i)
        if rng.random() < (0.2 if side[i] == side[j] else 0.01)
    ]
    edges = pandas.DataFrame(pairs, columns=["source", "target"]).astype(str)
    edges[["source", "target"]] = "p" + edges
    folder = tmp_path / "people"
    folder.mkdir()
    edges.to_csv(folder / "edges.csv", index=False)
    labels = pandas.DataFrame({"node": [f"p{i}" for i in range(100)], "label": side})
    labels.to_csv(folder / "labels.csv", index=False)
    model = pgso.load(pgso.find(folder).save(tmp_path / "model"))
    new = tmp_path / "new"
    new.mkdir()
    (new / "edges.csv").write_text("source,target\na,p1\na,p2\na,p3\nb,p97\nb,p98\nb,p99\n")
    assert model.predict(new)["prediction"].to_dict() == {"a": "left", "b": "right"}
    again = model.predict(folder)
    assert np.array_equal(numbers(again), numbers(model.predict()))


def test_a_trained_network_predicts_new_rows(tmp_path):
    nodes, edges, new, links = customers(300, 20)
    old = write(tmp_path / "old", nodes, edges)
    whole = write(tmp_path / "whole", pandas.concat([nodes, new]), pandas.concat([edges, links]))
    spec = pgso.RunSpec(dataset=str(old), epochs=20, data_options={"target": "leaves"})
    record = pgso.fit(spec, save=tmp_path / "model")
    model = pgso.load(tmp_path / "model")
    again = model.predict(old)
    test = again[again["split"] == "test"]
    assert (test["prediction"] == test["label"]).mean() == pytest.approx(record.test)
    alone = model.predict(new, links)
    assert np.allclose(numbers(alone), numbers(model.predict(whole).loc[alone.index]), atol=1e-6)
    assert model.header["coverage"]["labels"] == 60
    assert record.evaluation.coverage == pytest.approx(model.header["coverage"])


def test_what_is_there_is_kept_and_data_are_not_written_over(tmp_path):
    found = pgso.find("karate")
    found.save(tmp_path / "model")
    found.save(tmp_path / "model")
    assert not (tmp_path / "model-1").exists()  # the same again
    pgso.find("karate", seed=1, head="blend").save(tmp_path / "model")
    assert (tmp_path / "model-1" / "model.json").exists()
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "edges.csv").write_text("a,b\n")
    with pytest.raises(InputError, match="is there already and is not a saved model"):
        found.save(tmp_path / "data")


@pytest.mark.parametrize(
    "change",
    [
        {"form": "program"},
        {"num_features": "many"},
        {"head": {}},
        {"head": {"num_features": 34, "is_classes": True, "categories": None, "parts": []}},
        {"classes": ["a"]},
        {"spec": {"dataset": 3}},
        {"memory": {"relations": None, "columns": 10**12}},
        "[" * 10**5,
        "not JSON",
        "[1]",
    ],
    ids=lambda change: str(change)[:30],
)
def test_a_hostile_folder_is_one_sentence(tmp_path, change):
    folder = pgso.find("karate").save(tmp_path / "model")
    header = json.loads((folder / "model.json").read_text())
    text = change if isinstance(change, str) else json.dumps({**header, **change})
    (folder / "model.json").write_text(text)
    with pytest.raises(InputError) as caught:
        pgso.load(folder)
    assert len(str(caught.value)) < 500


def test_a_folder_without_a_model_is_said_to_have_none(tmp_path):
    with pytest.raises(InputError, match="there is no saved model in"):
        pgso.load(tmp_path)
    with pytest.raises(InputError, match="there is no saved model at"):
        pgso.load(tmp_path / "nothing")
