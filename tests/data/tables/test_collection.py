"""Own collections of graphs: a column ``graph`` in every file."""

import pytest
import torch

from pgso.data import load_task
from pgso.errors import InputError
from pgso.records import RunSpec
from pgso.training.fit import fit

EDGES = "graph,source,target,weight\n" + "".join(
    f"g{g},{a},{b},{1 + g}\n" for g in range(12) for a, b in ((0, 1), (1, 2))
)
FEATURES = "graph,node,size,colour\n" + "".join(
    f"g{g},{node},{g + node},{'red' if node else 'blue'}\n"
    for g in reversed(range(12))
    for node in range(4)
)
NAMES = "graph,node\n" + "".join(f"g{g},{node}\n" for g in range(12) for node in range(4))
LABELS = "graph,label\n" + "".join(f"g{g},{'odd' if g % 2 else 'even'}\n" for g in range(12))


@pytest.fixture
def write(tmp_path):
    def write(**files):
        folder = tmp_path / "shapes"
        folder.mkdir(exist_ok=True)
        given = {"edges": EDGES, "features": FEATURES, "labels": LABELS} | files
        for name, text in given.items():
            if text is not None:
                (folder / f"{name}.csv").write_text(text)
        return folder

    return write


def test_a_column_graph_makes_a_graph_task(write):
    task = load_task(write())
    assert (task.kind, task.num_graphs, task.num_nodes, task.num_edges) == ("graph", 12, 48, 48)
    assert task.ids == tuple(f"g{g}" for g in range(12))
    assert task.nodes_per_graph.tolist() == [4] * 12
    assert task.columns == ("size", "colour=blue", "colour=red")
    assert task.classes == ("even", "odd")
    assert task.y.tolist() == [0, 1] * 6
    # Nodes of a graph lie together, in the order of the labels. Features may have another order.
    assert torch.equal(task.x[:, 1].reshape(12, 4)[:, 0], torch.ones(12))
    weight = task.graph.edge_weight.reshape(12, 4)
    assert weight[:, 0].tolist() == [1 + g for g in range(12)]


def test_columns_are_fitted_on_the_nodes_of_training_graphs(write):
    task = load_task(write(splits="graph,split\ng0,train\ng1,train\ng2,val\ng3,test\n"))
    assert [part.tolist() for part in (task.train, task.val, task.test)] == [[0, 1], [2], [3]]
    assert task.preparation.columns[0].mean == 2.0  # 0, 1, 2, 3 and 1, 2, 3, 4


def test_without_features_nodes_have_their_degrees(write):
    task = load_task(write(features=None))
    assert task.num_nodes == 36
    assert task.x[:3].tolist() == [[0, 1, 0], [0, 0, 1], [0, 1, 0]]


def test_numbers_of_graphs_are_learned_too(write):
    targets = "graph,energy\n" + "".join(f"g{g},{g / 2}\n" for g in range(12))
    folder = write(labels=None, targets=targets)
    task = load_task(folder)
    assert (task.metric, task.targets) == ("rmse", ("energy",))
    assert fit(RunSpec(dataset=str(folder), conv="gin", epochs=2)).status == "done"


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({"labels": LABELS + "g99,odd\n"}, "a graph 'g99', of which features.csv has no node"),
        ({"features": "node,size\n0,1\n"}, "line 1: .* need the columns graph and node"),
        ({"features": NAMES}, "names the nodes and has no other column"),
        ({"features": FEATURES + "g0,0,1,red\n"}, "node '0' of graph 'g0' was described in line"),
        (
            {"edges": EDGES + "g0,0,7,1\n"},
            "line 26: column 'target': node '7' of graph 'g0' is in no",
        ),
    ],
)
def test_what_is_wrong_is_named(write, files, problem):
    with pytest.raises(InputError, match=problem):
        load_task(write(**files))


def test_a_column_id_beside_node_is_a_feature_and_pandas_index_is_none(write):
    rows = (f"{7 * g},g{g},{node},{100 + g},{g}" for g in range(12) for node in range(3))
    lines = "\n".join(f"{k},{row.partition(',')[2]}" for k, row in enumerate(rows))
    folder = write(features=f",graph,node,id,size\n{lines}")
    (folder / "columns.json").write_text('{"id": "as is", "size": "as is"}')
    task = load_task(folder)
    assert task.columns == ("id", "size")
    assert task.x[:4].tolist() == [[100, 0], [100, 0], [100, 0], [101, 1]]


def test_kinds_of_edges_are_refused_rather_than_forgotten(write):
    edges = "graph,source,target,relation\ng,a,b,single\nh,a,b,double\n"
    with pytest.raises(InputError, match="has the columns graph and relation"):
        load_task(write(edges=edges))
