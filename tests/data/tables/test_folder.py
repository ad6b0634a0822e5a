import sys
from itertools import pairwise

import numpy as np
import pytest
import torch

from pgso.data import load_task
from pgso.errors import InputError

EDGES = "source,target\nann,bob\nbob,cid\ncid,dan\ndan,eve\neve,fay\n"
LABELS = "node,label\nann,red\nbob,blue\ncid,red\ndan,blue\neve,red\nfay,blue\n"
SPLITS = "node,split\nann,train\nbob,train\ncid,val\ndan,valid\neve,test\nfay,\n"
AS_IS = '{"height": "as is", "age": "as is"}'


@pytest.fixture
def write(tmp_path):
    folder = tmp_path / "friends"
    folder.mkdir()

    def write(**files):
        for name, content in ({"edges": EDGES, "labels": LABELS} | files).items():
            if content is not None:
                data = content if isinstance(content, bytes) else content.encode()
                (folder / f"{name}.csv").write_bytes(data)
        return folder

    return write


def test_words_are_fine_for_ids_and_labels(write):
    task = load_task(write(splits=SPLITS))
    assert (task.name, task.kind, task.num_nodes, task.num_edges) == ("friends", "node", 6, 10)
    assert task.ids == ("ann", "bob", "cid", "dan", "eve", "fay")
    assert task.classes == ("blue", "red")
    assert task.y.tolist() == [1, 0, 1, 0, 1, 0]
    assert [part.tolist() for part in (task.train, task.val, task.test)] == [[0, 1], [2, 3], [4]]
    assert torch.equal(task.x, torch.eye(6))


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n").encode(),
        lambda text: b"\xef\xbb\xbf" + text.encode(),
        lambda text: text.rstrip("\n").encode(),
        lambda text: text.replace("\n", "\n\n").replace(",", " , ").encode(),
        lambda text: text.partition("\n")[2].encode(),
        lambda text: '"' + text.replace(",", '","').replace("\n", '"\n"')[:-1],
    ],
    ids=["CRLF", "BOM", "no newline", "blank lines and spaces", "no header", "quotes"],
)
def test_the_ways_to_write_a_file_read_alike(write, change):
    files = {"edges": EDGES, "labels": LABELS, "splits": SPLITS}
    plain = load_task(write(**files))
    other = load_task(write(**{name: change(text) for name, text in files.items()}))
    assert other.ids == plain.ids
    assert torch.equal(other.y, plain.y)
    assert torch.equal(other.train, plain.train)
    assert torch.equal(other.graph.edge_index, plain.graph.edge_index)


def test_without_ids_nodes_are_numbered(write):
    task = load_task(
        write(labels="0\n1\n0\n1\n0\n1", edges="0,1\n5,2", splits="\n".join(["train"] * 6))
    )
    assert task.ids == ("0", "1", "2", "3", "4", "5")
    assert task.num_edges == 4
    assert task.train.tolist() == [0, 1, 2, 3, 4, 5]


def test_edges_may_have_weights_and_directions(write):
    folder = write(edges="source,target,weight\nann,bob,0.5\nbob,cid,2\n")
    assert load_task(folder).graph.edge_weight.tolist() == [0.5, 0.5, 2, 2]
    one_way = load_task(folder, undirected=False).graph
    assert one_way.edge_index.tolist() == [[0, 1], [1, 2]]
    assert one_way.edge_weight.tolist() == [0.5, 2]


def test_features_are_found_by_node_or_by_order(write, tmp_path):
    named = "node,height,age\nbob,1,2\nann,3,4\ncid,5,6\ndan,7,8\neve,9,10\nfay,11,12\n"
    (folder := write(features=named)).joinpath("columns.json").write_text(AS_IS)
    assert load_task(folder).x[:2].tolist() == [[3, 4], [1, 2]]
    ordered = "height,age\n" + "".join(f"{k},0.5\n" for k in range(6))
    folder = write(features=ordered)
    with pytest.raises(
        InputError, match=r"no column that names the nodes: .* 'ann'.*rows=in_order"
    ):
        load_task(folder)
    task = load_task(folder, rows="in_order")
    assert task.x[:, 0].tolist() == [0, 1, 2, 3, 4, 5]
    assert "features.csv: rows taken in the order of labels.csv" in task.notes
    folder.joinpath("columns.json").write_text(AS_IS.replace("{", '{"rows": "in order", '))
    assert torch.equal(load_task(folder).x, task.x)
    (folder / "columns.json").unlink()
    (tmp_path / "friends" / "features.csv").unlink()
    np.save(tmp_path / "friends" / "features.npy", np.arange(12).reshape(6, 2))
    assert load_task(write()).x[1].tolist() == [2, 3]


@pytest.mark.parametrize("names", [list("abcdef"), list("012345")])
@pytest.mark.parametrize("header", [",node,height", "height,node", "height,node_id", "height,who"])
def test_the_column_of_nodes_may_stand_anywhere(write, names, header):
    if header.endswith("who") and names[0] == "0":
        pytest.skip("numbers under a name of their own are a feature")
    edges = "source,target\n" + "".join(f"{a},{b}\n" for a, b in pairwise(names))
    labels = "node,label\n" + "".join(f"{a},{'xy'[i % 2]}\n" for i, a in enumerate(names))
    rows = [(i, a) for i, a in enumerate(names)][::-1]
    index = header.startswith(",")
    lines = (f"{k},{a},{i + 160}" if index else f"{i + 160},{a}" for k, (i, a) in enumerate(rows))
    features = header + "\n" + "\n".join(lines)
    folder = write(edges=edges, labels=labels, features=features)
    (folder / "columns.json").write_text('{"height": "as is"}')
    task = load_task(folder)
    assert task.columns == ("height",)
    assert task.x.flatten().tolist() == [160, 161, 162, 163, 164, 165]


@pytest.mark.parametrize("header", [",node,y", "y,node"])
def test_the_nodes_of_targets_may_stand_anywhere(write, header):
    edges = "source,target\n0,1\n1,2\n2,3\n3,4\n4,5\n"
    rows = (
        f"{k},{5 - k},{5.5 - k}" if header[0] == "," else f"{5.5 - k},{5 - k}" for k in range(6)
    )
    task = load_task(write(edges=edges, labels=None, targets=header + "\n" + "\n".join(rows)))
    assert task.targets == ("y",)
    assert dict(zip(task.ids, task.y.flatten().tolist(), strict=True))["2"] == 2.5


def test_a_node_that_is_written_in_two_ways_is_refused(write):
    edges = "source,target\n" + "".join(f"{i:02d},{i + 1:02d}\n" for i in range(20))
    labels = "node,label\n" + "".join(f"{i},{'xy'[i % 2]}\n" for i in range(21))
    with pytest.raises(InputError, match=r"names '0' and edges.csv '00', which look like the same"):
        load_task(write(edges=edges, labels=labels))


def test_numbers_with_underscores_are_words(write):
    rows = "".join(f"{name},{i % 2}_{i % 3}\n" for i, name in enumerate(("ann", "bob", "cid")))
    rows += "dan,0_0\neve,1_1\nfay,0_2\n"
    task = load_task(write(features=f"node,code\n{rows}"))
    assert "code=0_0" in task.columns


def test_nodes_without_a_label_stay_in_the_graph(write):
    task = load_task(write(edges=EDGES + "fay,zoe\n", labels=LABELS.replace("ann,red", "ann,")))
    assert task.ids[-1] == "zoe"
    assert task.y[[0, 6]].tolist() == [-1, -1]
    assert not set(torch.cat([task.train, task.val, task.test]).tolist()) & {0, 6}


def test_the_seed_splits_where_there_is_no_file(write):
    labels = "label\n" + "a\nb\n" * 30
    folder = write(labels=labels, edges="0,1")
    first, again, other = (load_task(folder, seed=seed).train for seed in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert len(first) == 36


def test_two_classes_may_be_scored_by_roc_auc(write):
    assert load_task(write(), objective="roc_auc").metric == "roc_auc"


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({"edges": None}, "has no edges.csv"),
        ({"labels": None}, "has no labels.csv"),
        ({"edges": ""}, r"edges\.csv is empty"),
        ({"edges": EDGES + "ann\n"}, r"edges\.csv, line 7: expected 2 cells, got 1"),
        ({"edges": EDGES + "ann,bob,1\n"}, r"edges\.csv, line 7: expected 2 cells, got 3"),
        (
            {"edges": "ann,bob,1\nbob,cid,heavy\n"},
            "line 2: column 'weight': .* got 'heavy'",
        ),
        ({"edges": "ann,bob,1\nbob,cid,nan\n"}, "'weight': expected a finite number, got 'nan'"),
        ({"labels": LABELS + "ann,blue\n"}, "line 8: node 'ann' was labelled in line 2 already"),
        ({"labels": LABELS.replace("blue", "red")}, "needs two classes or more, got 1"),
        ({"labels": LABELS + "gil,red,1\n"}, r"labels\.csv, line 8: expected 2 cells, got 3"),
        (
            {"splits": SPLITS + "gil,test\n"},
            r"splits\.csv, line 8: column 'node': 'gil' is in no other file",
        ),
        (
            {"splits": SPLITS.replace("valid", "vla")},
            "line 5: column 'split': a part of the split.*got 'vla'",
        ),
        (
            {"splits": SPLITS, "labels": LABELS.replace("ann,red", "ann,")},
            r"splits\.csv, line 2: 'ann' has no label",
        ),
        ({"splits": "node,split\nann,test\n"}, "gives the part train to none; give it to some"),
        (
            {"features": "node,a\nann,1\nann,2\n"},
            r"features\.csv, line 3: node 'ann' was described in line 2",
        ),
        ({"features": "node,a\nann,1\n"}, "has no row for node 'bob'"),
        ({"features": "a\n1\n2\n"}, "has no column that names the nodes: they are called 'ann'"),
        (
            {"labels": "a\nb\na\nb\n", "edges": "0,1\n2,3\n", "features": "a\n1\n1\n"},
            "has 2 rows, but labels.csv names 4 nodes",
        ),
        ({"edges": '"ann,bob\n'}, r"edges\.csv, line 1"),
    ],
)
def test_what_is_wrong_is_said_with_file_and_line(write, files, problem):
    folder = write(**files)
    with pytest.raises(InputError, match=problem):
        load_task(folder)


@pytest.mark.parametrize("labels", ["label\nred\nblue\n", LABELS.upper().replace("NODE,LABEL", "")])
def test_files_that_have_no_node_in_common_are_refused(write, labels):
    with pytest.raises(InputError, match=r"labels\.csv and edges\.csv have no node in common"):
        load_task(write(labels=labels))


def test_names_alone_are_no_features(write):
    names = "".join(f"{name}\n" for name in ("node", "ann", "bob", "cid", "dan", "eve", "fay"))
    with pytest.raises(InputError, match="names the nodes and has no other column"):
        load_task(write(features=names))


def test_an_edge_to_a_node_without_features_is_refused(write):
    features = "node,a\n" + "".join(
        f"{name},1\n" for name in ["ann", "bob", "cid", "dan", "eve", "fay"]
    )
    with pytest.raises(
        InputError, match=r"edges\.csv, line 7: column 'source': node 'zoe' is in no other file"
    ):
        load_task(write(features=features, edges=EDGES + "zoe,ann\n"))


@pytest.mark.parametrize(
    "array",
    [np.ones((5, 2)), np.ones(6), np.array([[np.nan]] * 6), np.array([["a"]] * 6), np.ones((6, 0))],
    ids=["too short", "one dimension", "NaN", "words", "no columns"],
)
def test_wrong_arrays_of_features_are_refused(write, array):
    folder = write()
    np.save(folder / "features.npy", array)
    with pytest.raises(InputError, match=r"features\.npy"):
        load_task(folder)


def test_pickled_features_are_refused(write):
    folder = write()
    np.save(folder / "features.npy", np.array([{}] * 6, dtype=object))
    with pytest.raises(InputError, match=r"features\.npy is no readable array"):
        load_task(folder)


def test_column_names_that_are_not_known_are_no_nodes(write):
    assert load_task(write(edges=EDGES.replace("source,target", "u,v"))).num_nodes == 6
    weighted = "buyer,seller,euros\nann,bob,1\nbob,cid,2\n"
    task = load_task(write(edges=weighted))
    assert task.graph.edge_weight is None
    assert any("'euros' left out" in note for note in task.notes)
    assert load_task(write(edges=weighted), weight="euros").graph.edge_weight.tolist() == [
        1,
        1,
        2,
        2,
    ]
    folder = write(edges=EDGES.replace("source,target", "zoe,ann"))  # one more friend
    assert load_task(folder).num_nodes == 7


@pytest.mark.parametrize("labels", [None, "node,label\nann,\nbob,\ncid,red\n"])
def test_to_predict_on_a_folder_needs_no_labels(write, labels):
    folder = write(labels=labels, features="node,f\nann,1\nbob,2\ncid,3\ndan,4\neve,5\nfay,6\n")
    task = load_task(folder, unlabelled=True)
    assert task.ids == ("ann", "bob", "cid", "dan", "eve", "fay")
    assert task.y.tolist() == [-1] * 6
    assert task.columns == ("f",)
    with pytest.raises(InputError):
        load_task(folder)


def test_large_features_stay_in_their_file(write, monkeypatch):
    monkeypatch.setattr("pgso.data.arrays.READ_UP_TO", 0)
    folder = write()
    np.save(folder / "features.npy", np.eye(6, 100, dtype=np.float32))
    x = load_task(folder).x
    np.load(folder / "features.npy", mmap_mode="r+")[3, 7] = 5  # after the task was loaded
    assert x[3, 7] == 5


TARGETS = "node,price,rent\nann,1.5,10\nbob,2.5,\ncid,NA,\ndan,3.5,11\neve,0,12\nfay,1,13\n"


def test_numbers_to_predict_in_several_columns_some_of_them_missing(write):
    task = load_task(write(labels=None, targets=TARGETS))
    assert (task.kind, task.metric, task.targets, task.num_outputs) == (
        "node", "rmse", ("price", "rent"), 2,
    )  # fmt: skip
    expected = [[1.5, 10], [2.5, np.nan], [np.nan] * 2, [3.5, 11], [0, 12], [1, 13]]
    np.testing.assert_array_equal(task.y.numpy(), np.array(expected, dtype=np.float32))
    parts = torch.cat([task.train, task.val, task.test])
    assert sorted(parts.tolist()) == [0, 1, 3, 4, 5]  # of cid nothing is known


def test_one_of_several_columns_may_be_chosen_and_the_objective_too(write):
    folder = write(labels=None, targets=TARGETS)
    task = load_task(folder, target="rent", objective="MAE")
    assert (task.targets, task.metric) == (("rent",), "mae")
    assert sorted(torch.cat([task.train, task.val, task.test]).tolist()) == [0, 3, 4, 5]
    with pytest.raises(InputError, match="no column 'size'; it has node, price, rent"):
        load_task(folder, target="size")


def test_columns_of_zeros_and_ones_are_labels(write):
    yes_or_no = "node,tea,coffee\nann,1,0\nbob,0,\ncid,1,1\ndan,0,1\neve,1,1\nfay,0,0\n"
    task = load_task(write(labels=None, targets=yes_or_no))
    assert (task.metric, task.answer, task.classes) == (
        "multilabel_roc_auc", "labels", ("tea", "coffee"),
    )  # fmt: skip
    assert load_task(write(labels=None, targets="1.5\n2\n3\n4\n", edges="0,1\n")).targets == (
        "target",
    )


def test_a_first_line_of_a_node_and_a_number_is_no_header(write):
    numbers = "ann,1\nbob,2\ncid,3\ndan,4\neve,5\nfay,6\n"
    task = load_task(write(labels=None, targets=numbers))
    assert task.targets == ("target",)
    assert task.y.flatten().tolist() == [1, 2, 3, 4, 5, 6]
    with pytest.raises(InputError, match="line 1: column 'target': expected a finite number"):
        load_task(write(labels=None, targets=numbers.replace("ann,1", "ann,inf")))


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({"targets": TARGETS}, "has labels.csv and targets.csv; remove one"),
        ({"labels": None}, "has no labels.csv; .* labels.csv .or targets.csv"),
        ({"labels": None, "targets": "node,a\nann,x\n"}, "line 2: column 'a': expected a finite"),
        ({"labels": None, "targets": "node,a\nann,1\nann,2\n"}, "'ann' was described in line 2"),
        ({"labels": None, "targets": "1,2\n3,4\n"}, "several columns need a header"),
        ({"labels": None, "targets": "ann,2,3\nbob,4,5\n"}, "several columns need a header"),
        ({"splits": "ann,train\nbob,val\nann,test\n"}, "line 3: .* a part in line 1 already"),
        ({"labels": None, "targets": "node,a\nann,\n"}, "holds no number to learn from"),
        ({"labels": None, "targets": "node,a\nann,1e308\n"}, "a number up to 3.4e.38, got '1e308'"),
        ({"edges": "ann,bob,1e300\nbob,cid,1\n"}, "line 1: .*a number up to 3.4e.38, got '1e300'"),
        (
            {"labels": None, "targets": TARGETS, "splits": "node,split\ncid,train\n"},
            "'cid' has no label and cannot be part of the split",
        ),
    ],
)
def test_what_is_wrong_with_targets_is_said(write, files, problem):
    with pytest.raises(InputError, match=problem):
        load_task(write(**files))


def test_an_objective_that_does_not_fit_is_refused_with_those_that_do(write):
    with pytest.raises(InputError, match="rmse scores numbers, but the data hold one class each"):
        load_task(write(), objective="rmse")
    with pytest.raises(InputError, match="no objective is called 'acc'"):
        load_task(write(), objective="acc")


def test_numbers_are_not_scored_as_classes(write):
    with pytest.raises(InputError, match=r"choose one of .*mae, .*rmse"):
        load_task(write(labels=None, targets=TARGETS), objective="accuracy")


KINDS = "source,target,relation\na,b,knows\nb,c,likes\na,b,likes\nc,d,knows\n"


def write_kinds(folder, edges=KINDS):
    folder.mkdir(exist_ok=True)
    (folder / "edges.csv").write_text(edges)
    (folder / "labels.csv").write_text("a,x\nb,y\nc,x\nd,y\n")
    return folder


def test_a_relation_column_tells_kinds_of_edges_apart(tmp_path):
    task = load_task(write_kinds(tmp_path / "kinds"))
    assert list(task.relations.graphs) == ["knows", "likes"]
    assert task.edges is task.relations
    assert task.relations.part("knows").edge_index.t().tolist() == [[1, 0], [0, 1], [3, 2], [2, 3]]
    # The graph of all edges has the sum: a and b know and like each other.
    dense = task.graph.to_torch_sparse().to_dense()
    assert dense[0].tolist() == [0.0, 2.0, 0.0, 0.0]
    assert dense[1].tolist() == [2.0, 0.0, 1.0, 0.0]
    directed = load_task(tmp_path / "kinds", undirected=False)
    assert directed.relations.part("likes").edge_index.t().tolist() == [[0, 1], [1, 2]]


def test_relations_may_have_weights(tmp_path):
    edges = "source,target,weight,relation\na,b,0.5,knows\na,b,2,likes\nc,d,1,likes\n"
    task = load_task(write_kinds(tmp_path / "kinds", edges))
    assert task.relations.part("knows").edge_weight.tolist() == [0.5, 0.5]
    assert task.relations.part("likes").edge_weight.tolist() == [2.0, 2.0, 1.0, 1.0]


def test_without_a_relation_column_there_are_none(tmp_path):
    task = load_task(write_kinds(tmp_path / "plain", "source,target\na,b\nb,c\nc,d\n"))
    assert task.relations is None
    assert task.edges is task.graph


@pytest.mark.parametrize("name", ["in", "out", "self", ""])
def test_a_relation_that_is_a_word_of_terms_is_refused(tmp_path, name):
    edges = f"source,target,relation\na,b,{name}\nb,c,likes\nc,d,likes\n"
    with pytest.raises(InputError, match="line 2: column 'relation': a relation cannot be called"):
        load_task(write_kinds(tmp_path / "kinds", edges))


def test_a_column_that_names_single_edges_is_no_relation(tmp_path):
    edges = "source,target,relation\n" + "".join(f"a,b,edge {k}\n" for k in range(1001))
    with pytest.raises(InputError, match="has 1,001 relations, at most 1,000 are allowed"):
        load_task(write_kinds(tmp_path / "kinds", edges))


def test_several_labels_of_one_node_are_separated_by_a_bar(write):
    labels = "node,label\nann,red|blue\nbob,blue\ncid,|\ndan,\neve,red\nfay,blue | red\n"
    folder = write(labels=labels)
    task = load_task(folder)
    assert (task.classes, task.metric) == (("blue", "red"), "multilabel_roc_auc")
    assert task.y[[0, 1, 2, 4, 5]].tolist() == [[1, 1], [1, 0], [0, 0], [0, 1], [1, 1]]
    assert task.y[3].isnan().all()
    assert 3 not in torch.cat([task.train, task.val, task.test])
    assert "red|blue" in load_task(folder, label_separator="").classes


def test_a_label_given_twice_says_how_to_write_several(write):
    with pytest.raises(InputError, match=r"line 8: node 'ann' was labelled in line 2.*blue\|"):
        load_task(write(labels=LABELS + "ann,blue\n"))


def test_types_of_nodes_make_relations_of_edges(tmp_path):
    (tmp_path / "edges.csv").write_text("source,target\nu1,f1\nf2,u1\nu2,f2\nu1,u2\n")
    (tmp_path / "features.csv").write_text(
        "node,type,age\nu1,user,30\nu2,user,40\nf1,film,\nf2,film,\n"
    )
    (tmp_path / "labels.csv").write_text("node,label\nu1,a\nu2,b\n")
    task = load_task(tmp_path)
    graphs = task.relations.graphs
    assert {name: graph.num_edges for name, graph in graphs.items()} == {
        "user-film": 6,
        "user-user": 2,
    }
    assert task.columns[:2] == ("type=film", "type=user")
    directed = load_task(tmp_path, undirected=False).relations.graphs
    assert {name: graph.num_edges for name, graph in directed.items()} == {
        "user-film": 2,
        "film-user": 1,
        "user-user": 1,
    }


def test_parquet_files_read_as_csv_files_do(write, tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    features = "node,height,city\n" + "".join(
        f"{name},{k}.5,{'Nice' if k % 2 else 'Lyon'}\n"
        for k, name in enumerate(("ann", "bob", "cid", "dan", "eve", "fay"))
    )
    folder = write(features=features)
    plain = load_task(folder)
    for name, text in (("edges", EDGES), ("labels", LABELS), ("features", features)):
        header, *rows = [line.split(",") for line in text.splitlines()]
        columns = [list(column) for column in zip(*rows, strict=True)]
        if name == "features":
            columns[1] = [float(cell) for cell in columns[1]]
        table = pyarrow.table(dict(zip(header, columns, strict=True)))
        parquet.write_table(table, folder / f"{name}.parquet")
        with pytest.raises(InputError, match=f"{name}.csv and {name}.parquet; remove one"):
            load_task(folder)
        (folder / f"{name}.csv").unlink()
    again = load_task(folder)
    assert (again.ids, again.columns, again.classes) == (plain.ids, plain.columns, plain.classes)
    assert torch.equal(again.x, plain.x)
    assert torch.equal(again.graph.edge_index, plain.graph.edge_index)


def test_parquet_without_pyarrow_is_one_sentence(write, monkeypatch):
    folder = write(edges=None)
    (folder / "edges.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match=r"needs pyarrow: pip install pyarrow, or write it as"):
        load_task(folder)


RING = "source,target\n" + "".join(f"{i},{(i + 1) % 6}\n" for i in range(6))


def test_in_a_single_column_a_blank_line_is_a_node_without_an_answer(write):
    lines = 'train\n""\nval\n\ntest\ntrain\n'
    task = load_task(write(edges=RING, labels='label\nred\n""\nblue\n\nred\nblue\n', splits=lines))
    assert task.y.tolist() == [1, -1, 0, -1, 1, 0]
    assert [part.tolist() for part in (task.train, task.val, task.test)] == [[0, 5], [2], [4]]
    with pytest.raises(InputError, match=r"line 1 is blank; remove it"):
        load_task(write(edges=RING, labels="\nlabel\nred\n"))


def test_in_a_single_column_of_numbers_a_blank_line_is_a_gap(write):
    numbers = load_task(write(edges=RING, labels=None, targets="price\n1\n\n3\n4\n5\n6\n"))
    assert numbers.y.flatten().isnan().tolist() == [False, True] + 4 * [False]
    assert numbers.y[2:].flatten().tolist() == [3, 4, 5, 6]


@pytest.mark.parametrize("header", ["customer,price", "customer_id,price"])
def test_ids_are_no_targets_though_most_of_them_have_no_edge(write, header):
    order = [7, 3, 5, 16, 0, 14, 2, 9, 1, 4, 10, 13, 12, 8, 15, 11, 6]
    rows = (f"{i},{10 * i + 0.5}" for i in order)
    task = load_task(write(edges=RING, labels=None, targets="\n".join([header, *rows])))
    assert task.targets == ("price",)
    assert task.y.flatten().tolist() == [10 * i + 0.5 for i in order]
    assert task.ids == tuple(map(str, order))


@pytest.mark.parametrize("name", ["customer", "customer_id"])
def test_a_wrong_number_among_ids_is_refused_rather_than_joining_by_order(write, name):
    edges = "source,target\n" + "".join(f"{i},{(i + 1) % 20}\n" for i in range(20))
    labels = "customer,state\n" + "".join(f"{i},{'xy'[i % 2]}\n" for i in range(19, -1, -1))
    features = f"{name},age\n" + "".join(f"{i},{i / 2}\n" for i in [*range(19), 190])
    with pytest.raises(InputError, match=r"no row for node '19' .* names '190'"):
        load_task(write(edges=edges, labels=labels, features=features))


def test_nodes_that_edges_write_in_two_ways_are_refused_though_all_labels_are_there(write):
    edges = "source,target\n" + "".join(f"{i},{(i + 1) % 20}.0\n" for i in range(20))
    labels = "node,label\n" + "".join(f"{i},{'xy'[i % 2]}\n" for i in range(20))
    with pytest.raises(InputError, match=r"names '1' and edges.csv '1.0', which look"):
        load_task(write(edges=edges, labels=labels))
    both = "".join(f"{i:02d},{'xy'[i % 2]}\n" for i in range(10))  # named in labels.csv: meant
    edges = "source,target\n" + "".join(f"{i},0{(i + 1) % 10}\n" for i in range(10))
    labels = "node,label\n" + "".join(f"{i},{'xy'[i % 2]}\n" for i in range(10)) + both
    assert load_task(write(edges=edges, labels=labels)).num_nodes == 20


def test_decimal_commas_are_for_numbers_and_not_for_names_and_labels(write):
    names, labels = ["1,5", "bob", "cid", "dan"], ["1,2", "3", "1,2", "3"]
    edges = "".join(f"{a};{b};0,5\n" for a, b in pairwise(names))
    rows = "".join(f"{name};{label}\n" for name, label in zip(names, labels, strict=True))
    files = {"edges": "source;target;weight\n" + edges, "labels": "node;label\n" + rows}
    task = load_task(write(**files), label_separator=",")
    assert task.ids[0] == "1,5"
    assert task.num_nodes == 4
    assert task.classes == ("1", "2", "3")
    assert task.y[:2].tolist() == [[1, 1, 0], [0, 0, 1]]
    assert set(task.graph.edge_weight.tolist()) == {0.5}


def test_a_first_line_that_may_be_a_header_or_a_node_is_refused(write):
    edges = EDGES.replace("source,target", "customer,friend")
    labels = LABELS.replace("node,label", "customer,red")
    with pytest.raises(InputError, match="is 'customer' a node or the name of the column"):
        load_task(write(edges=edges, labels=labels))
    weighted = EDGES.partition("\n")[2].replace("\n", ",1\n")
    task = load_task(write(edges="zoe,yan,2\n" + weighted, labels="zoe,red\nann,red\nbob,blue\n"))
    assert task.y[task.ids.index("zoe")] == 1


@pytest.mark.parametrize("weight", ["nan", "", '"1,5"'])
def test_an_edge_in_the_first_line_with_a_wrong_weight_is_refused(write, weight):
    edges = f"ann,bob,{weight}\nbob,cid,2\ncid,dan,3\ndan,eve,1\neve,fay,1\n"
    with pytest.raises(InputError, match=r"line 1: column 'weight': expected a finite number"):
        load_task(write(edges=edges))


@pytest.mark.parametrize("header", [",price,rank", "score,rank"])
def test_whole_numbers_beside_others_are_a_target(write, header):
    ranks = [3, 6, 1, 5, 2, 4]
    rows = [f"{i},{i + 0.5},{r}" if header[0] == "," else f"{i + 0.5},{r}"
            for i, r in enumerate(ranks)]  # fmt: skip
    task = load_task(write(edges=RING, labels=None, targets="\n".join([header, *rows])))
    assert task.targets == tuple(header.strip(",").split(","))
    assert task.y[:, 1].tolist() == ranks
    assert task.num_nodes == 6


def test_whole_numbers_are_features_where_labels_number_the_nodes(write):
    labels = "red\nblue\nred\nblue\nred\nblue\n"
    features = "children,x\n" + "".join(f"{i % 3},{i / 4}\n" for i in range(6))
    task = load_task(write(edges=RING, labels=labels, features=features))
    assert task.columns == ("children", "x")
    assert task.notes == ("features.csv: rows taken in the order of labels.csv",)
    alone = "children\n" + "".join(f"{i + 1}\n" for i in range(6))  # may be ids, from 1 on
    with pytest.raises(InputError, match=r"no row for node '0'.* they count from 1"):
        load_task(write(edges=RING, labels=labels, features=alone))


def test_semicolons_separate_where_all_commas_are_decimal(write):
    names = ("ann", "bob", "cid", "dan", "eve", "fay")
    rows = "".join(f"{name};{i},25\n" for i, name in enumerate(names))
    folder = write(features='node;"income, yearly"\n' + rows)  # a comma would cut it in two, too
    (folder / "columns.json").write_text('{"income, yearly": "as is"}')
    task = load_task(folder)
    assert task.columns == ("income, yearly",)
    assert task.x.flatten().tolist() == [0.25, 1.25, 2.25, 3.25, 4.25, 5.25]


def test_ids_of_features_that_are_written_otherwise_are_refused(write):
    edges = "source,target\n" + "".join(f"{i},{(i + 1) % 20}\n" for i in range(20))
    labels = "node,label\n" + "".join(f"{i},{'xy'[i % 2]}\n" for i in range(19, -1, -1))
    features = "customer,age\n" + "".join(f"{i}.0,{i / 2}\n" for i in range(20))
    with pytest.raises(InputError, match=r"no row for node '19' .* names '0.0'"):
        load_task(write(edges=edges, labels=labels, features=features))


def test_a_first_line_with_a_weight_is_an_edge(write):
    edges = "zoe,yan,2\n" + EDGES.partition("\n")[2].replace("\n", ",1\n")
    task = load_task(write(edges=edges, labels=LABELS.partition("\n")[2]))
    assert {"zoe", "yan"} <= set(task.ids)
    assert task.num_edges == 12


def test_line_breaks_in_quotes_are_part_of_a_name(write):
    edges = EDGES + '"new\nyork",ann\nnewyork,bob\n'
    task = load_task(write(edges=edges, labels=LABELS + '"new\nyork","dark\nred"\n'))
    assert {"new\nyork", "newyork"} <= set(task.ids)
    assert task.classes == ("blue", "dark\nred", "red")


def test_targets_far_from_0_keep_their_differences(write):
    values = [float(i * i) for i in range(6)]
    files = ["\n".join(["price", *(str(v + z) for v in values)]) for z in (0.0, 1.7e9)]
    plain, far = (load_task(write(edges=RING, labels=None, targets=text)) for text in files)
    assert plain.y.dtype == torch.float32
    assert (far.y.flatten() - 1.7e9).tolist() == values
    splits = "split\ntrain\ntrain\ntrain\nval\nval\ntest\n"  # where one number is far away
    outlier = "\n".join(["price", *(str(1.7e9 + v) for v in values[:-1]), "0"])
    task = load_task(write(edges=RING, labels=None, targets=outlier, splits=splits))
    assert (task.y.flatten() - 1.7e9).tolist()[:-1] == values[:-1]
