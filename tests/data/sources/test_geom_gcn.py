import numpy as np
import pytest

from pgso.data.dataset import Sizes
from pgso.data.sources import nodes
from pgso.data.sources.nodes import Origin
from pgso.errors import InputError

NODES = "node_id\tfeature\tlabel\n1\t0,1\t1\n0\t1,0\t0\n2\t1,3\t1\n3\t0,0\t0\n"
EDGES = "node_id\tnode_id\n0\t1\n0\t1\n1\t2\n3\t3\n"


@pytest.fixture(params=["WebKB", "Actor"])
def toy(request, tmp_path, monkeypatch):
    bags = request.param == "Actor"
    sizes = Sizes(1, 4, 3, 4 if bags else 2, 2)
    origin = Origin(request.param, "toy", "toy", sizes)
    monkeypatch.setitem(nodes.GEOM_GCN, "Toy", origin)
    folder = tmp_path / "toy"
    folder.mkdir()
    (folder / "out1_node_feature_label.txt").write_text(NODES)
    (folder / "out1_graph_edges.txt").write_text(EDGES)
    for k in range(10):
        masks = np.roll(np.array([[1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]], dtype=np.uint8), k, 1)
        names = ("train_mask", "val_mask", "test_mask")
        parts = dict(zip(names, masks, strict=True))
        np.savez(folder / f"toy_split_0.6_0.2_{k}.npz", **parts)
    return folder


def load(folder, seed=0, **options):
    return nodes.load_geom_gcn("Toy", folder.parent, seed, **options)


def test_nodes_come_in_the_order_of_their_ids_and_edges_once(toy):
    task = load(toy)
    assert task.y.tolist() == [0, 1, 1, 0]
    assert task.graph.edge_index.tolist() == [[0, 1, 3], [1, 2, 3]]
    rows = {2: [[1, 0], [0, 1], [1, 3], [0, 0]]}
    bags = {4: [[1, 1, 0, 0], [1, 1, 0, 0], [0, 1, 0, 1], [1, 0, 0, 0]]}
    assert task.x.tolist() == (rows | bags)[task.num_features]


def test_a_seed_takes_its_public_split(toy):
    task = load(toy, 11)
    assert [part.tolist() for part in (task.train, task.val, task.test)] == [[1, 2], [3], [0]]
    assert load(toy, 1).val.tolist() == [3]


def test_options_make_it_undirected_and_normalise_it(toy):
    assert load(toy, undirected=True).num_edges == 5
    total = load(toy, normalise=True).x.sum(1)
    assert np.isin(total, [0, 1]).all()


@pytest.mark.parametrize(
    ("file", "content", "problem"),
    [
        ("out1_node_feature_label.txt", NODES[:-5], r"line 5: expected|hold 3|whole numbers"),
        ("out1_node_feature_label.txt", NODES.replace("\n2\t", "\n1\t"), "describes a node twice"),
        ("out1_node_feature_label.txt", NODES.replace("\n2\t", "\n9\t"), "a node id is 9"),
        ("out1_node_feature_label.txt", NODES.replace("1,3", "1,x"), "line 4: expected 2"),
        ("out1_node_feature_label.txt", EDGES, "line 2: expected 3 tab-separated fields, got 2"),
        ("out1_node_feature_label.txt", "", "is empty"),
        ("out1_graph_edges.txt", EDGES + "0\t4\n", "a node id is 4"),
        ("out1_graph_edges.txt", EDGES[:-4], "hold 2 edges, but Toy has 3"),
        ("out1_graph_edges.txt", NODES, "line 2: expected 2 whole numbers"),
        ("toy_split_0.6_0.2_0.npz", "no archive", "no readable"),
    ],
)
def test_wrong_files_are_one_clear_error(toy, file, content, problem):
    (toy / file).write_text(content)
    with pytest.raises(InputError, match=problem):
        load(toy)


def test_the_split_of_another_graph_is_refused(toy):
    masks = {part: np.zeros(9) for part in ("train_mask", "val_mask", "test_mask")}
    np.savez(toy / "toy_split_0.6_0.2_0.npz", **masks)
    with pytest.raises(InputError, match="splits 9 nodes, Toy has 4"):
        load(toy)
