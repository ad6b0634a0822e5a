"""Ordinary folders, whose right reading is beyond doubt, written in many ways and read alike."""

import gzip
import itertools

import numpy as np
import pandas as pd
import pytest

from pgso import Task, load_task

N = 24
CITIES = ("Nice", "Lyon", "Saint-Étienne")


class Truth:
    """A graph of 24 nodes with features of every kind, and nothing of a file."""

    def __init__(self, names, seed=0):
        rng = np.random.default_rng(seed)
        self.names = names
        ring = [(i, (i + 1) % (N - 1)) for i in range(N - 1)]  # the last node has no edge
        chords = {(i, (i + 7) % (N - 1)) for i in range(0, N - 1, 3)}
        self.pairs = ring + sorted(chords)
        self.weights = [round(float(w), 2) for w in rng.uniform(0.5, 3, len(self.pairs))]
        self.labels = [("red", "blue", "green")[i % 3] for i in range(N)]
        self.parts = ["train"] * 12 + ["val"] * 6 + ["test"] * 6
        self.nodes = pd.DataFrame(
            {
                "node": names,
                "income": [round(float(v), 2) for v in rng.lognormal(3, 1, N)],
                "age": [
                    float(v) if i != 3 else None for i, v in enumerate(rng.integers(18, 80, N))
                ],
                "city": [CITIES[i] for i in rng.integers(0, 3, N)],
                "since": [f"2024-0{1 + i % 9}-1{i % 9}" for i in range(N)],
                "member": [bool(i % 2) for i in range(N)],
            }
        )

    def edges(self, weighted):
        frame = pd.DataFrame(
            {
                "source": [self.names[i] for i, _ in self.pairs],
                "target": [self.names[j] for _, j in self.pairs],
            }
        )
        return frame.assign(weight=self.weights) if weighted else frame

    def expected(self, task, weighted):
        """What every reading must give."""
        assert sorted(task.ids) == sorted(map(str, self.names))
        place = {name: k for k, name in enumerate(task.ids)}
        mine = [place[str(name)] for name in self.names]
        assert [task.classes[task.y[k]] for k in mine] == self.labels
        A = task.graph.to_torch_sparse().to_dense().numpy()
        B = np.zeros((N, N))
        for (i, j), w in zip(self.pairs, self.weights, strict=True):
            B[mine[i], mine[j]] = B[mine[j], mine[i]] = w if weighted else 1
        np.testing.assert_allclose(A, B, rtol=1e-6)


NAMES = {
    "words": [f"p{i}" for i in range(N)],
    "people": [f"Ann-{chr(65 + i)} O'Neil" for i in range(N)],
    "accents": [f"é{chr(97 + i)}" for i in range(N)],
    "counted": list(range(N)),
    "from one": list(range(1, N + 1)),
    "large": [725731259612196864 + 17 * i for i in range(N)],
    "padded": [f"{i:04d}" for i in range(N)],
    "codes": [f"{i}-{i * 7}" for i in range(N)],
}
SHUFFLE = np.random.default_rng(5).permutation(N)


def as_text(frame, form, header=True):
    options = {
        "comma": {"sep": ","},
        "tab": {"sep": "\t"},
        "semicolon": {"sep": ";"},
        "decimal comma": {"sep": ";", "decimal": ","},
        "quoted": {"quoting": 1},
        "index": {"index": True},
    }[form]
    return frame.to_csv(**({"index": False} | options), header=header)


FORMS = ("comma", "tab", "semicolon", "decimal comma", "quoted", "index")


def write(folder, truth, form, weighted, features, splits, header=True, bom=False, crlf=False):
    folder.mkdir()
    labels = pd.DataFrame({"node": truth.names, "label": truth.labels})
    tables = {"edges": truth.edges(weighted), "labels": labels}
    if features:
        tables["features"] = truth.nodes.iloc[SHUFFLE].reset_index(drop=True)
    if splits:
        tables["splits"] = pd.DataFrame({"node": truth.names, "split": truth.parts})
    for name, frame in tables.items():
        text = as_text(frame, form, header or name == "features")
        text = text.replace("\n", "\r\n") if crlf else text
        data = text.encode("utf-8-sig" if bom else "utf-8")
        (folder / f"{name}.csv").write_bytes(data)
    return folder


@pytest.mark.parametrize(
    ("names", "form", "weighted", "features"),
    [
        (names, form, k % 2 == 0, k % 3 != 0)
        for k, (names, form) in enumerate(itertools.product(NAMES, FORMS))
    ],
)
def test_a_folder_reads_as_what_it_was_written_from(tmp_path, names, form, weighted, features):
    truth = Truth(NAMES[names])
    folder = write(tmp_path / "plain", truth, form, weighted, features, splits=True)
    task = load_task(folder)
    truth.expected(task, weighted)
    place = [task.ids.index(str(name)) for name in truth.names]
    parts = {
        k: p for p, part in enumerate((task.train, task.val, task.test)) for k in part.tolist()
    }
    assert [("train", "val", "test")[parts[k]] for k in place] == truth.parts
    if features:
        kinds = {c.name: c.kind for c in task.preparation.columns}
        assert kinds == {
            "income": "number", "age": "number", "city": "category", "since": "date",
            "member": "boolean",
        }  # fmt: skip
        income = task.x[:, task.columns.index("income")].numpy()[place]
        assert np.corrcoef(income, truth.nodes["income"])[0, 1] > 0.999999


@pytest.mark.parametrize("names", NAMES)
@pytest.mark.parametrize("form", ["comma", "tab", "quoted"])
def test_without_headers_it_is_the_same(tmp_path, names, form):
    truth = Truth(NAMES[names])
    folder = write(tmp_path / "bare", truth, form, True, False, True, header=False, crlf=True)
    truth.expected(load_task(folder), True)


@pytest.mark.parametrize(
    "header",
    ["u,v", "from_id,to_id", "id_1,id_2", "buyer,seller", "A,B", "i,j", "head,tail", "V1,V2"],
)
@pytest.mark.parametrize("names", NAMES)
def test_columns_may_be_called_anything(tmp_path, names, header):
    truth = Truth(NAMES[names])
    folder = write(tmp_path / "named", truth, "comma", False, True, False, bom=True)
    (folder / "edges.csv").write_text(
        as_text(truth.edges(False), "comma").replace("source,target", header)
    )
    for name in ("labels", "features"):
        path = folder / f"{name}.csv"
        path.write_text(path.read_text("utf-8-sig").replace("node,", "customer,", 1))
    task = load_task(folder)
    truth.expected(task, False)
    assert "income" in task.columns


@pytest.mark.parametrize("names", NAMES)
def test_more_columns_of_edges_are_named_and_left_out(tmp_path, names):
    truth = Truth(NAMES[names])
    folder = write(tmp_path / "more", truth, "comma", False, False, False)
    edges = truth.edges(False).assign(
        edge_id=range(len(truth.pairs)), year=2019, kind="call", since="2024-01-05"
    )
    edges.to_csv(folder / "edges.csv", index=False)
    task = load_task(folder)
    truth.expected(task, False)
    assert any("'edge_id', 'year', 'kind', 'since' left out" in note for note in task.notes)
    edges[["edge_id", "source", "target"]].to_csv(folder / "edges.csv", index=False)
    truth.expected(load_task(folder), False)


@pytest.mark.parametrize("names", NAMES)
def test_labels_may_be_a_column_of_the_features(tmp_path, names):
    truth = Truth(NAMES[names])
    folder = write(tmp_path / "within", truth, "comma", True, False, False)
    (folder / "labels.csv").unlink()
    truth.nodes.assign(colour=truth.labels).to_csv(folder / "features.csv", index=False)
    task = load_task(folder, target="colour")
    truth.expected(task, True)
    assert not any(name.startswith("colour") for name in task.columns)
    truth.nodes.assign(label=truth.labels, split=truth.parts).to_csv(
        folder / "features.csv", index=False
    )
    again = load_task(folder)
    assert again.columns == task.columns
    assert len(again.train) == 12


@pytest.mark.parametrize("names", ["words", "counted", "large"])
@pytest.mark.parametrize("suffix", [".CSV", ".tsv", ".txt", ".csv.gz", ".parquet"])
def test_files_may_be_called_and_packed_otherwise(tmp_path, names, suffix):
    truth = Truth(NAMES[names])
    folder = write(tmp_path / "files", truth, "comma", True, True, True)
    plain = load_task(folder)
    for name in ("edges", "labels", "features", "splits"):
        path = folder / f"{name}.csv"
        frame = pd.read_csv(path)
        other = folder / f"{name.capitalize().removesuffix('s')}{suffix}"
        if suffix == ".parquet":
            frame.to_parquet(other)
        elif suffix == ".csv.gz":
            other.write_bytes(gzip.compress(path.read_bytes()))
        else:
            frame.to_csv(other, index=False, sep="\t" if suffix == ".tsv" else ",")
        path.unlink()
    task = load_task(folder)
    truth.expected(task, True)
    assert task.x.tolist() == plain.x.tolist()
    assert task.train.tolist() == plain.train.tolist()


@pytest.mark.parametrize("names", ["words", "counted", "padded"])
def test_rows_without_names_are_nodes_0_1_2(tmp_path, names):
    truth = Truth(list(range(N)))
    folder = write(tmp_path / "rows", truth, "comma", False, False, False)
    pd.DataFrame({"label": truth.labels}).to_csv(folder / "labels.csv", index=False)
    truth.nodes.drop(columns="node").to_csv(folder / "features.csv", index=False)
    task = load_task(folder)
    truth.expected(task, False)
    assert np.corrcoef(task.x[:, 0], truth.nodes["income"])[0, 1] > 0.999999


def test_a_few_labels_and_blank_lines_and_quoted_commas(tmp_path):
    truth = Truth([f"Neil, {i}" for i in range(N)])
    folder = write(tmp_path / "few", truth, "comma", True, True, False)
    lines = (folder / "labels.csv").read_text().splitlines()
    (folder / "labels.csv").write_text("\n\n".join(lines[:13]) + "\n,\n\n")
    task = load_task(folder)
    assert task.ids[0] == "Neil, 0"
    assert sorted(task.ids) == sorted(truth.names)
    assert (task.y >= 0).sum() == 12


@pytest.mark.parametrize("width", [1, 2, 5])
@pytest.mark.parametrize("name", ["", "customer", "node"])
@pytest.mark.parametrize("names", ["words", "counted", "from one", "large"])
def test_columns_may_be_called_0_1_2_as_those_of_a_matrix(tmp_path, names, name, width):
    truth = Truth(NAMES[names])
    folder = write(tmp_path / "matrix", truth, "comma", False, False, False)
    matrix = np.random.default_rng(0).normal(size=(N, width)).round(3)
    frame = pd.DataFrame(matrix, index=pd.Index(truth.names, name=name or None))
    frame.iloc[SHUFFLE].to_csv(folder / "features.csv")
    task = load_task(folder)
    truth.expected(task, False)
    assert task.columns == tuple(map(str, range(width)))
    place = [task.ids.index(str(node)) for node in truth.names]
    assert np.corrcoef(task.x[place, -1], matrix[:, -1])[0, 1] > 0.999999


def test_a_matrix_without_names_is_read_in_the_order_of_labels_without_names(tmp_path):
    truth = Truth(list(range(N)))
    folder = write(tmp_path / "matrix", truth, "comma", False, False, False)
    pd.DataFrame({"label": truth.labels}).to_csv(folder / "labels.csv", index=False)
    matrix = pd.DataFrame(np.random.default_rng(0).normal(size=(N, 2)).round(3))
    matrix.to_csv(folder / "features.csv", index=False)
    assert load_task(folder).columns == ("0", "1")


@pytest.mark.parametrize("names", ["words", "counted", "from one"])
@pytest.mark.parametrize("index", [False, True])
def test_an_index_that_was_written_and_read_again_is_no_feature(tmp_path, names, index):
    truth = Truth(NAMES[names])
    folder = write(tmp_path / "twice", truth, "index", True, True, False)
    plain = load_task(folder)
    for path in folder.iterdir():
        pd.read_csv(path, dtype=str).to_csv(path, index=index)
    task = load_task(folder)
    truth.expected(task, True)
    assert task.columns == plain.columns


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["15-03-2021", "16-04-2021"], "date"),
        (["15/03/2021 10:05", "16/04/2021 11:15"], "date"),
        (["3 Mar 2021", "16 Apr 2021"], "date"),
        (["March 3, 2021", "April 16, 2021"], "date"),
        (["2021-03", "2021-04"], "date"),
        (["15.03.21", "16.04.21"], "date"),
        (["2019-20", "2020-21"], "category"),
        (["1.2.10", "1.3.12"], "category"),
        (["1", "2", "#N/A"], "number"),
        (["1", "2", "<NA>"], "number"),
        (["1", "2", "."], "number"),
        (["True", "False"], "boolean"),
    ],
)
def test_cells_are_what_people_write(tmp_path, cells, kind):
    truth = Truth(NAMES["words"])
    folder = write(tmp_path / "cells", truth, "comma", False, False, False)
    rows = pd.DataFrame({"node": truth.names, "x": (cells * N)[:N], "other": range(N)})
    rows.to_csv(folder / "features.csv", index=False)
    column = load_task(folder).preparation.columns[0]
    assert (column.name, column.kind) == ("x", kind)


def test_a_class_may_be_called_label_and_a_part_dev(tmp_path):
    truth = Truth(NAMES["words"])
    truth.labels = ["label" if i % 2 == 0 else "class" for i in range(N)]
    truth.parts = [part.replace("val", "dev") for part in truth.parts]
    folder = write(tmp_path / "bare", truth, "comma", False, False, True, header=False)
    task = load_task(folder)
    assert task.y[task.ids.index(truth.names[0])] == 1
    assert len(task.val) == 6


def test_blanks_may_separate_nodes_and_excel_may_name_its_separator(tmp_path):
    truth = Truth(NAMES["words"])
    folder = write(tmp_path / "blanks", truth, "semicolon", False, True, False)
    for path in folder.iterdir():
        path.write_text("sep=;\n" + path.read_text())
    truth.expected(load_task(folder), False)
    edges = as_text(truth.edges(False), "comma", header=False).replace(",", " ")
    (folder / "edges.csv").unlink()
    (folder / "edges.txt").write_text(edges)
    truth.expected(load_task(folder), False)


def test_letters_that_move_the_cursor_are_removed_from_every_name(tmp_path):
    truth = Truth(NAMES["words"])
    folder = write(tmp_path / "escapes", truth, "comma", False, True, False)
    red = "\x1b[31m"
    for name, old in (("features", "income"), ("labels", "red")):
        path = folder / f"{name}.csv"
        path.write_text(path.read_text().replace(old, f"{red}{old}\x07"))
    task = load_task(folder)
    assert {"[31mincome"} <= set(task.columns)
    assert "[31mred" in task.classes
    frame = truth.nodes.rename(columns={"income": f"{red}income"}).assign(colour=truth.labels)
    frames = Task.from_frames(frame, truth.edges(False), target="colour")
    assert "[31mincome" in frames.columns


def test_a_frame_of_any_types_is_what_its_csv_is(tmp_path):
    truth = Truth(NAMES["large"])
    nodes = truth.nodes.assign(left=[i % 3 == 0 for i in range(N)])
    folder = write(tmp_path / "types", truth, "comma", True, False, False)
    (folder / "labels.csv").unlink()
    nodes.to_csv(folder / "features.csv", index=False)
    plain = load_task(folder, target="left")
    assert plain.classes == ("False", "True")
    for frame in (
        nodes,
        nodes.convert_dtypes(),
        nodes.astype({"city": "category", "left": "boolean"}),
        nodes.rename(columns={"node": "customer"}).set_index(pd.Index(SHUFFLE)),
    ):
        task = Task.from_frames(frame, truth.edges(True), target="left")
        assert (task.classes, task.ids) == (plain.classes, plain.ids)
        assert task.preparation == plain.preparation
        assert task.x.tolist() == plain.x.tolist()
