"""Tables that were once read wrongly without a word: each is read rightly now, or refused."""

import os
import unicodedata

import numpy as np
import pandas as pd
import pytest

from pgso.data import load_task
from pgso.errors import InputError

N = 30
RING = "source,target\n" + "".join(f"{i},{(i + 1) % N}\n" for i in range(N))
LABELS = "node,label\n" + "".join(f"{i},{'ab'[i % 2]}\n" for i in range(N))


@pytest.fixture
def load(tmp_path):
    def load(options=None, **files):
        for name, text in ({"edges": RING, "labels": LABELS} | files).items():
            if text is not None:
                (tmp_path / f"{name}.csv").write_text(text)
        return load_task(tmp_path, **(options or {}))

    return load


def features(name_of, header="node,age,height\n"):
    rng = np.random.default_rng(0)
    rows = [f"{name_of(i)},{20 + i % 7},{150 + i}\n" for i in rng.permutation(N)]
    return header + "".join(rows)


@pytest.mark.parametrize("header", ["node,age,height\n", "customer,age,height\n", ""])
@pytest.mark.parametrize(
    ("name_of", "repair"),
    [
        (lambda i: f"{i}.0", r"write '\d+' instead of '\d+\.0'"),
        (lambda i: f"{i:03d}", r"write '\d+' instead of '\d{3}'"),
        (lambda i: i + 1, "count from 1"),
        (lambda i: f"CUST-{i}", "remove 'CUST-' before each name"),
    ],
    ids=["after a join", "padded", "from 1", "prefix"],
)
def test_features_whose_ids_match_no_node_are_refused(load, name_of, repair, header):
    with pytest.raises(InputError, match=repair):
        load(features=features(name_of, header))


@pytest.mark.parametrize("header", ["node,age,height\n", "customer,age,height\n", ""])
@pytest.mark.parametrize(
    ("node", "name_of", "repair"),
    [
        (lambda i: f"CUST-{i}", str, "put 'CUST-' before each name"),
        (lambda i: f"n{i}", lambda i: f"N{i}", r"write 'n\d+' instead of 'N\d+'"),
    ],
    ids=["prefix missing", "case"],
)
def test_features_whose_words_match_no_node_are_refused(load, node, name_of, repair, header):
    edges = "source,target\n" + "".join(f"{node(i)},{node((i + 1) % N)}\n" for i in range(N))
    labels = "node,label\n" + "".join(f"{node(i)},{'ab'[i % 2]}\n" for i in range(N))
    with pytest.raises(InputError, match=repair):
        load(edges=edges, labels=labels, features=features(name_of, header))


def test_the_original_files_of_cora_have_ids_in_the_first_column(load):
    ids = [1000 + 17 * i for i in range(N)]
    edges = "".join(f"{ids[i]}\t{ids[(i + 1) % N]}\n" for i in range(N))
    labels = "".join(f"{ids[i]}\t{'ab'[i % 2]}\n" for i in range(N))
    rows = "".join(f"{ids[i]}\t{i % 2}\t{(i + 1) % 2}\n" for i in reversed(range(N)))
    task = load(edges=edges, labels=labels, features=rows)
    assert task.num_nodes == N
    assert task.num_features == 2
    assert task.x[:, 0].tolist() == [(int(name) - 1000) // 17 % 2 for name in task.ids]


@pytest.mark.parametrize("name", ["id", "edge_id", "timestamp", "year", "type", "Since"])
def test_a_further_number_of_an_edge_is_no_weight(load, name):
    rows = "".join(f"{i},{(i + 1) % N},{i}\n" for i in range(N))
    task = load(edges=f"source,target,{name}\n{rows}")
    assert task.graph.edge_weight is None
    assert task.num_edges == 2 * N
    assert any(f"{name!r} left out" in note for note in task.notes)
    assert (
        load({"weight": name}, edges=f"source,target,{name}\n{rows}").graph.edge_weight is not None
    )


@pytest.mark.parametrize("name", ["weight", "W", "Value", "COUNT", "strength", "amount"])
def test_a_weight_is_known_by_its_name(load, name):
    rows = "".join(f"{i},{(i + 1) % N},{i + 1}\n" for i in range(N))
    assert load(edges=f"source,target,{name}\n{rows}").graph.edge_weight.max() == N


def test_lines_that_are_counted_in_a_third_column_are_refused(load):
    rows = "".join(f"{i},{(i + 1) % N},{i}\n" for i in range(N))
    with pytest.raises(InputError, match="the third column counts the lines"):
        load(edges=rows)


def test_edges_from_1_beside_labels_by_row_are_refused(load):
    edges = "source,target\n" + "".join(f"{i + 1},{(i + 1) % N + 1}\n" for i in range(N))
    with pytest.raises(InputError, match=f"names the nodes 1 to {N} .* the nodes 0 to {N - 1}"):
        load(edges=edges, labels="label\n" + "a\nb\n" * (N // 2))
    some = edges.replace("7,8\n", "")
    with pytest.raises(InputError, match="count from 0"):
        load(edges=some, labels="label\n" + "a\nb\n" * (N // 2), features="x\n" + "1\n2\n" * 15)


def test_edges_from_1_beside_labels_that_count_from_0_are_refused(load):
    edges = "source,target\n" + "".join(f"{i + 1},{(i + 1) % N + 1}\n" for i in range(N))
    labels = "node,label\n" + "".join(f"{i},{'ab'[i % 2]}\n" for i in range(N))
    with pytest.raises(InputError, match=f"names the nodes 1 to {N} .* the nodes 0 to {N - 1}"):
        load(edges=edges, labels=labels)
    more = load(edges=edges + f"{N + 1},3\n", labels=labels)  # several nodes without a label
    assert more.num_nodes == N + 2


def test_a_node_that_is_described_twice_is_named_with_its_lines(load):
    names = [f"c{i}" for i in range(N)]
    edges = "source,target\n" + "".join(f"{names[i - 1]},{names[i]}\n" for i in range(N))
    labels = "customer,label\n" + "".join(f"{n},{'ab'[i % 2]}\n" for i, n in enumerate(names))
    rows = "".join(f"{n},{i % 7}\n" for i, n in enumerate(names))
    with pytest.raises(InputError, match=rf"features.csv, line {N + 2}: node 'c4' .* in line 6"):
        load(edges=edges, labels=labels, features=f"customer,age\n{rows}c4,5\n")


@pytest.mark.parametrize(
    "written",
    [
        lambda name: unicodedata.normalize("NFD", name),
        lambda name: f"\u200b{name}",
        lambda name: f"{name}\u00a0",
        lambda name: f"{name[0]}\u2060{name[1:]}",
    ],
    ids=["decomposed", "zero width", "hard blank", "word joiner"],
)
def test_letters_that_look_alike_are_one_name(load, written):
    names = [f"é{i}" for i in range(N)]
    edges = "source,target\n" + "".join(f"{names[i]},{written(names[i - 1])}\n" for i in range(N))
    labels = "node,label\n" + "".join(f"{written(n)},{'ab'[i % 2]}\n" for i, n in enumerate(names))
    task = load(edges=edges, labels=labels)
    assert task.ids == tuple(names)


def test_a_name_in_another_case_is_no_new_node(load):
    edges = "source,target\nn1,n2\nn2,N3\n"
    with pytest.raises(
        InputError, match=r"names 'n3' and edges.csv 'N3', which look like the same"
    ):
        load(edges=edges, labels="node,label\nn1,a\nn2,b\nn3,a\n")


def test_nodes_that_only_edges_name_are_counted(load):
    task = load(edges=RING + "x,0\ny,1\n")
    assert (
        "2 of 32 nodes are named by edges.csv only, such as 'x'; they have no label" in task.notes
    )


def test_an_index_of_pandas_is_no_node(load):
    edges = ",source,target\n" + "".join(f"{i},n{i},n{(i + 1) % N}\n" for i in range(N))
    labels = ",node,label\n" + "".join(f"{i},n{i},{'ab'[i % 2]}\n" for i in range(N))
    task = load(edges=edges, labels=labels, features=",node,x\n" + "".join(
        f"{i},n{i},{i * i}\n" for i in range(N)
    ))  # fmt: skip
    assert task.ids == tuple(f"n{i}" for i in range(N))
    assert task.columns == ("x",)


@pytest.mark.parametrize("name", ["edges", "labels"])
def test_a_header_alone_is_no_table(load, name):
    header = {"edges": "source,target\n", "labels": "node,label\n"}[name]
    with pytest.raises(InputError, match=rf"{name}.csv has a header and no"):
        load(**{name: header})


def test_a_first_node_called_node_keeps_its_label(load):
    names = ["node", *(f"n{i}" for i in range(1, N))]
    edges = "".join(f"{names[i]},{names[(i + 1) % N]}\n" for i in range(N))
    labels = "".join(f"{name},{'ab'[i % 2]}\n" for i, name in enumerate(names))
    task = load(edges=edges, labels=labels)
    assert task.num_nodes == N
    assert task.y[task.ids.index("node")] == 0


def column(load, cells, name="x"):
    rows = "".join(f'{i};"{cells[i % len(cells)]}";{i},5\n' for i in range(N))
    task = load(features=f"node;{name};other\n{rows}")
    return task.preparation.columns[0]


def test_1_000_is_a_word(load):
    assert column(load, ["1_000", "2_000"]).kind == "category"


def test_a_point_beside_decimal_commas_is_refused(load):
    with pytest.raises(InputError, match=r"line 3: column 'x': .* decimal comma.* got '1.200'"):
        column(load, ["2,5", "1.200"])


def test_of_two_readings_of_a_date_the_one_is_said(load):
    found = column(load, ["03/04/2024", "05/06/2024"])
    assert (found.kind, found.date_format) == ("date", "%d/%m/%Y")
    assert "written as day/month/year" in found.became
    found = column(load, ["03/04/2024", "05/16/2024"])
    assert "written as month/day/year" in found.became


def test_eight_digits_that_are_days_are_dates(load):
    found = column(load, ["20240131", "20231224"])
    assert found.kind == "date"
    assert "written as yearmonthday" in found.became
    assert column(load, ["20240132", "20231224"]).kind == "number"


def test_percentages_are_numbers(load):
    found = column(load, ["14%", "2,5 %", "30%"])
    assert (found.kind, found.unit) == ("number", "%")
    assert 10 < found.mean < 20
    assert "in per cent" in found.became


def test_amounts_with_units_are_refused(load):
    with pytest.raises(InputError, match=r"column 'x': expected a number, got '5 EUR'; .*1200\.5"):
        column(load, ["5 EUR", "7 EUR", "9 EUR"])


def test_negative_weights_loops_and_repetitions_are_counted(load):
    edges = "source,target,weight\n" + "".join(f"{i},{(i + 1) % N},-1\n" for i in range(N))
    notes = load(edges=edges + "3,3,2\n0,1,5\n").notes
    assert "edges.csv: 30 weights are negative" in notes
    assert "edges.csv: 1 edges join a node with itself" in notes
    assert "edges.csv: 1 lines repeat an edge, and their weights are added up" in notes


def test_edges_to_unknown_nodes_are_counted_and_may_be_dropped(load):
    given = {"edges": RING + "x,0\ny,1\n", "features": features(str)}
    with pytest.raises(
        InputError, match=r"node 'x' is in no other file, as are 1 others.*unknown=drop"
    ):
        load(**given)
    task = load({"unknown": "drop"}, **given)
    assert task.num_nodes == N
    assert "edges.csv: 2 edges to 2 nodes that labels.csv does not name are left out" in task.notes


@pytest.mark.parametrize("name", ["splits.csv", "features.csv", "columns.json"])
@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo], ids=["folder", "pipe"])
def test_what_is_no_file_is_refused(load, tmp_path, name, make):
    make(tmp_path / name)
    with pytest.raises(InputError, match=f"{name} is not a file"):
        load()


def test_other_names_of_files_are_advised(load, tmp_path):
    (tmp_path / "nba_relationship.txt").write_text("1\t2\n")
    (tmp_path / "nba.csv").write_text("id,x\n1,2\n")
    with pytest.raises(InputError, match=r"no edges.csv; it has .*rename nba_relationship.txt to"):
        load(edges=None)


def test_words_in_a_first_line_that_may_be_an_edge_are_refused(load):
    with pytest.raises(InputError, match="is 'buyer,seller' a header, or a line like the others"):
        load({"unlabelled": True}, edges="buyer,seller\na,b\nc,d\n", labels=None)


def test_frames_of_r_have_no_name_for_the_names(load):
    rows = "".join(f"{i},{i % 7},{i * i}\n" for i in range(N))
    assert load(features="age,height\n" + rows).columns == ("age", "height")


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({"labels": "node,label\n" + "".join(f"{i},c{i // 2}\n" for i in range(24000))}, "12,000"),
        (
            {
                "labels": None,
                "targets": ",".join(["node", *map("t{}".format, range(1500))]) + "\n"
                + "".join(",".join([str(i), *["1"] * 1500]) + "\n" for i in range(3)),
            },
            "1,500 targets, at most 1,000",
        ),
        ({"features": ",".join(["node", *map("x{}".format, range(30000))]) + "\n0" + ",1" * 30000},
         "30,001 columns, at most 20,000"),
    ],
)  # fmt: skip
def test_limits_are_checked_before_memory_is_taken(load, files, problem):
    with pytest.raises(InputError, match=problem):
        load(**files)


def test_a_file_full_of_holes_is_refused_before_it_is_read(load, tmp_path):
    with (tmp_path / "features.csv").open("wb") as file:
        file.truncate(3 * 2**30)
    with pytest.raises(InputError, match="has 3,221,225,472 bytes; a table may have 1,073,741,824"):
        load()


def test_whole_numbers_that_gaps_made_floats_are_classes_again(load):
    labels = pd.Series([i % 2 if i else None for i in range(N)], name="label")
    text = labels.rename_axis("node").to_csv()
    assert load(labels=text).classes == ("0", "1")


def test_minus_1_beside_0_and_1_is_asked_about(load):
    labels = "node,label\n" + "".join(f"{i},{i % 3 - 1}\n" for i in range(N))
    with pytest.raises(InputError, match="is the label -1 a class beside 0 and 1, or unknown"):
        load(labels=labels)
    assert load({"missing": "-1"}, labels=labels).classes == ("0", "1")
    assert load({"missing": "none"}, labels=labels).classes == ("-1", "0", "1")
    two = "node,label\n" + "".join(f"{i},{2 * (i % 2) - 1}\n" for i in range(N))
    assert load(labels=two).classes == ("-1", "1")


def test_edges_that_numpy_wrote_are_numbers_of_nodes(load, tmp_path):
    np.savetxt(tmp_path / "edges.txt", [(i, (i + 1) % N) for i in range(N)])
    rows = "label,x\n" + "".join(f"{'ab'[i % 2]},{i * i}\n" for i in range(N))
    task = load(edges=None, labels=None, features=rows)
    assert (task.num_nodes, task.num_edges) == (N, 2 * N)
    assert task.ids == tuple(map(str, range(N)))


def test_a_table_of_gephi_and_comments_of_snap_are_read(load, tmp_path):
    (tmp_path / "nodes.csv").write_text(
        "Id,Label,part\n" + "".join(f"{i},name {i},{i % 3}\n" for i in range(N))
    )
    edges = "Source,Target,Type,Id,Weight\n" + "".join(
        f"{i},{(i + 1) % N},Undirected,{i},2.0\n" for i in range(N)
    )
    task = load({"target": "part"}, edges=edges, labels=None)
    assert (task.num_nodes, task.classes) == (N, ("0", "1", "2"))
    assert set(task.graph.edge_weight.tolist()) == {2}
    (tmp_path / "nodes.csv").unlink()
    comments = "# Directed graph\n# FromNodeId\tToNodeId\n"
    assert load(edges=comments + RING.partition("\n")[2].replace(",", "\t")).num_edges == 2 * N
    with pytest.raises(InputError, match="line 4: expected 2 cells, got 3"):
        load(edges=comments + "0,1\n1,2,3\n")


def test_graphs_may_be_called_by_their_ids(load):
    edges = "graph_id,source,target\n" + "".join(f"{i},a,b\n{i},b,c\n" for i in range(N))
    task = load(edges=edges, labels=LABELS.replace("node", "graph_id"))
    assert (task.kind, task.num_graphs, task.num_nodes) == ("graph", N, 3 * N)


def test_a_first_column_that_counts_the_lines_is_no_source(load):
    pairs = [(i, (i + 1) % N) for i in range(N)] + [(0, 7), (3, 9)]
    with pytest.raises(InputError, match="the first column counts the lines"):
        load(edges="".join(f"{k},{a},{b}\n" for k, (a, b) in enumerate(pairs)))
    weighted = "".join(f"{a},{b},{1 + a % 3}\n" for a, b in pairs)  # whose sources count as well
    assert load(edges=weighted).num_nodes == N


def test_labels_from_1_beside_edges_from_0_are_refused(load):
    labels = "node,label\n" + "".join(f"{i + 1},{'ab'[i % 2]}\n" for i in range(N))
    with pytest.raises(InputError, match=f"the nodes 0 to {N - 1} .* the nodes 1 to {N}"):
        load(labels=labels)


@pytest.mark.parametrize("name", ["{}", "n{}", "{}-{}"], ids=["numbers", "words", "codes"])
def test_pandas_calls_columns_0_and_1(tmp_path, name):
    names = [name.format(100 + 7 * i, i) for i in range(N)]
    pairs = pd.DataFrame([(names[i], names[(i + 1) % N]) for i in range(N)])
    pairs.to_csv(tmp_path / "edges.csv", index=False)
    pd.DataFrame([(n, "ab"[i % 2]) for i, n in enumerate(names)]).to_csv(
        tmp_path / "labels.csv", index=False
    )
    task = load_task(tmp_path)
    assert task.ids == tuple(names)
    assert task.num_edges == 2 * N


def test_an_edge_or_label_of_node_0_is_no_header(load):
    bare = "".join(RING.splitlines(keepends=True)[1:])
    assert load(edges=bare, labels=LABELS.replace("node,label\n", "")).num_edges == 2 * N
    numbers = "".join(f"{i},{(i + 1) % 2}\n" for i in range(N))  # begins with 0,1
    task = load(edges=bare, labels=numbers)
    assert (task.num_nodes, task.classes) == (N, ("0", "1"))
    with pytest.raises(InputError, match="is '0,1' a header, or a line like the others"):
        load(
            edges="source,target\n" + "".join(f"{i + 1},{i + 2}\n" for i in range(N)),
            labels="0,1\n" + "".join(f"{i + 1},{i % 2}\n" for i in range(N)),
        )


def test_a_matrix_of_numpy_savetxt_has_whole_numbers(tmp_path):
    for name, matrix in {
        "edges": [(i, (i + 1) % N) for i in range(N)],
        "labels": [i % 3 for i in range(N)],
        "features": np.random.default_rng(0).normal(size=(N, 3)),
    }.items():
        np.savetxt(tmp_path / f"{name}.csv", np.array(matrix), delimiter=",")
    task = load_task(tmp_path)
    assert (task.num_nodes, task.num_edges, task.classes) == (N, 2 * N, ("0", "1", "2"))


def test_a_table_of_r_numbers_its_rows(tmp_path):
    ends = "".join(f'"{i + 1}" "n{i}" "n{(i + 1) % N}"\n' for i in range(N))
    (tmp_path / "edges.txt").write_text('"source" "target"\n' + ends)
    (tmp_path / "labels.csv").write_text(
        "node,label\n" + "".join(f"n{i},{'ab'[i % 2]}\n" for i in range(N))
    )
    assert load_task(tmp_path).ids == tuple(f"n{i}" for i in range(N))


def test_a_node_may_be_called_node_below_a_header(load):
    edges = RING.replace("\n0,", "\nnode,").replace(",0\n", ",node\n")
    task = load(edges=edges, labels=LABELS.replace("\n0,", "\nnode,"))
    assert (task.num_nodes, task.ids[0]) == (N, "node")


def test_excel_writes_unicode_text_in_16_bits(tmp_path):
    (tmp_path / "edges.csv").write_bytes(RING.replace(",", "\t").encode("utf-16"))
    (tmp_path / "labels.csv").write_bytes(LABELS.encode("utf-16"))
    assert load_task(tmp_path).num_edges == 2 * N


def test_zero_bytes_and_other_encodings_are_refused(load, tmp_path):
    with pytest.raises(InputError, match="no text, it holds zero bytes"):
        load(features="node,x\n" + "\0" * 100)
    (tmp_path / "features.csv").write_bytes("node,x\n0,Café\n".encode("cp1252"))
    with pytest.raises(InputError, match=r"line 2: .* save the file as UTF-8 \(in Excel: CSV UTF"):
        load_task(tmp_path)
