"""Tables that can be read in two ways, found by a stranger: read rightly, or refused by name."""

import os

import numpy as np
import pandas as pd
import pytest

from pgso import Task, load_task
from pgso.data.dataset import suited
from pgso.data.tables.folder import load_folder
from pgso.errors import InputError
from pgso.records import RunSpec

N = 24
PAIRS = [(i, (i + 1) % N) for i in range(N)]
EDGES = pd.DataFrame(PAIRS, columns=["source", "target"])
PLACES = np.random.default_rng(9).permutation(N).tolist()
KINDS = ["a" if i % 3 else "b" for i in range(N)]
LABELS = pd.DataFrame({"node": range(N), "label": KINDS})
AGES = [20 + i * i % 31 for i in range(N)]


@pytest.fixture
def load(tmp_path):
    def load(options=None, **files):
        for name, content in ({"edges": EDGES, "labels": LABELS} | files).items():
            path = tmp_path / name.replace("__", ".")
            path = path if path.suffix else path.with_suffix(".csv")
            if isinstance(content, pd.DataFrame):
                content.to_csv(path, index=False)
            elif content is not None:
                path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return load_task(tmp_path, **(options or {}))

    return load


def semicolons(cells):
    lines = [f"{i};{cell};{20 + i % 5}" for i, cell in zip(range(N), cells, strict=True)]
    return "node;price;age\n" + "\n".join(lines) + "\n"


@pytest.mark.parametrize("index", ["", "index", "level_0", "Unnamed: 0"])
@pytest.mark.parametrize("table", ["features", "labels"])
def test_numbers_of_rows_that_pandas_wrote_name_no_nodes(load, index, table):
    rows = {index: range(N), "customer": PLACES}
    if table == "labels":
        task = load(labels=pd.DataFrame({**rows, "label": KINDS}))
    else:
        task = load(features=pd.DataFrame({**rows, "age": AGES}))
    place = {name: k for k, name in enumerate(task.ids)}
    for row, customer in enumerate(PLACES):
        if table == "labels":
            assert task.classes[task.y[place[str(customer)]]] == KINDS[row]
    if table == "features":
        assert task.columns == ("age",)
        age = [float(task.x[place[str(customer)], 0]) for customer in PLACES]
        assert np.corrcoef(age, AGES)[0, 1] == pytest.approx(1)


@pytest.mark.parametrize("first", ["row", "rank", "nr"])
@pytest.mark.parametrize("table", ["features", "labels"])
def test_two_columns_that_hold_the_names_of_nodes_are_refused(load, first, table):
    frame = pd.DataFrame({first: range(N), "customer": PLACES, "label": KINDS})
    with pytest.raises(InputError, match=f"'{first}' and 'customer' both hold names of nodes"):
        load({"target": "label"}, **{"labels": None, table: frame})
    called = frame.rename(columns={"customer": "node"})
    task = load({"target": "label"}, **{"labels": None, table: called})
    assert task.classes[task.y[task.ids.index(str(PLACES[5]))]] == KINDS[5]


@pytest.mark.parametrize("index", ["index", "nr", "edge_id", "#"])
def test_a_column_that_counts_the_edges_is_no_end(load, index):
    counted = EDGES.set_axis(["von", "nach"], axis=1).reset_index(names=index)
    with pytest.raises(InputError, match="which columns hold the two ends"):
        load(edges=counted)
    task = load(edges=counted.set_axis([index, "source", "target"], axis=1))
    assert task.num_edges == 2 * N


@pytest.mark.parametrize(
    ("cells", "problem"),
    [
        (["950", "1.200", "12.300"], "got '1.200'; write one, such as 1200 or 1,2"),
        (["9,5", "1.200", "12"], "a number with a decimal comma, as in other cells, got '1.200'"),
    ],
)
def test_a_point_that_may_stand_between_thousands_is_refused(load, cells, problem):
    with pytest.raises(InputError, match=problem):
        load(features=semicolons(cells[i % 3] for i in range(N)))
    weights = "\n".join(f"{a};{b};{cells[k % 3]}" for k, (a, b) in enumerate(PAIRS))
    with pytest.raises(InputError, match=problem):
        load(edges=f"source;target;amount\n{weights}\n")


def test_a_decimal_comma_elsewhere_tells_what_a_point_is(load):
    table = semicolons(["950", "1.200"][i % 2] for i in range(N)).replace(";20", ";20,5")
    with pytest.raises(InputError, match="column 'price': expected a number with a decimal comma"):
        load(features=table)


def test_decimal_points_between_semicolons_are_read(load):
    task = load(features=semicolons(["950", "1.200", "12.35"][i % 3] for i in range(N)))
    price = task.x[[task.ids.index(str(i)) for i in range(3)], task.columns.index("price")]
    assert float((price[2] - price[1]) / (price[0] - price[1])) == pytest.approx(11.15 / 948.8)
    categories = '{"price": "category"}'
    task = load(
        features=semicolons(["950", "1.200"][i % 2] for i in range(N)), columns__json=categories
    )
    assert task.columns[:2] == ("price=1.200", "price=950")


@pytest.mark.parametrize("other", ["31/01/2024", "soon", "2024-13-41"])
def test_dates_in_several_forms_and_words_among_dates_are_refused(load, other):
    dates = [other if i == 4 else f"2024-01-{i + 1:02d}" for i in range(N)]
    frame = pd.DataFrame({"node": range(N), "since": dates, "age": AGES})
    with pytest.raises(InputError, match=f"line 6: column 'since': expected a date, got '{other}'"):
        load(features=frame)
    left = {"labels": LABELS.drop(4), "edges": EDGES.drop([3, 4])}
    task = load(features=frame.drop(4), **left)
    assert task.preparation.columns[0].kind == "date"


def test_codes_that_look_like_dates_and_are_none_are_categories(load):
    codes = [["01.13.41", "62.01.99", "47.91.10"][i % 3] for i in range(N)]
    task = load(features=pd.DataFrame({"node": range(N), "nace": codes}))
    assert task.preparation.columns[0].kind == "category"


@pytest.mark.parametrize("name", ["features.xlsx", "features.json", "nodes.xlsx", "splits.json"])
def test_a_file_in_a_form_that_is_not_read_is_no_missing_file(load, name):
    with pytest.raises(InputError, match=f"{name} is not read; save it as .csv"):
        load(**{name: b"PK"})


def test_a_copy_in_another_form_is_left_alone(load):
    frame = pd.DataFrame({"node": range(N), "age": AGES})
    assert load(features=frame, **{"features.xlsx": b"PK", "labels.csv~": b"x"}).columns == ("age",)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04" + bytes(60), b"\x93NUMPY\x01\x00\xff"])
def test_an_array_that_is_none_is_refused_and_no_bug(load, tmp_path, content):
    with pytest.raises(InputError, match="no readable array of numbers"):
        load(features__npy=content)
    assert suited(RunSpec(dataset=str(tmp_path))).residual is False  # looks at its first bytes


@pytest.mark.parametrize("name", ["edges.csv", "features.csv", "features.npy"])
def test_nobody_waits_for_a_pipe(load, tmp_path, name):
    load()
    if (tmp_path / name).exists():
        (tmp_path / name).unlink()
    os.mkfifo(tmp_path / name)
    assert suited(RunSpec(dataset=str(tmp_path))).operator == "found"
    with pytest.raises(InputError, match=f"{name} is not a file"):
        load_task(tmp_path)


def test_edges_that_are_all_unknown_are_not_dropped(load):
    strange = EDGES.map(lambda i: f"x{i}")
    frame = pd.DataFrame({"node": range(N), "age": AGES})
    with pytest.raises(InputError, match="node 'x0' is in no other file, as are 23 others"):
        load({"unknown": "drop"}, edges=strange, features=frame)


def test_two_splits_are_one_too_many(load):
    parts = ["train"] * 12 + ["val"] * 6 + ["test"] * 6
    splits = pd.DataFrame({"node": range(N), "split": parts})
    with pytest.raises(InputError, match="has a column 'split' beside splits"):
        load(labels=LABELS.assign(split=parts), splits=splits)


@pytest.mark.parametrize(
    ("kinds", "problem"),
    [
        ('{"rows": "yes"}', '"rows" in columns.json must be one of in order'),
        ('{"age": "number"}', "no features.csv"),
    ],
)
def test_columns_json_that_says_nothing_is_refused(load, kinds, problem):
    frame = pd.DataFrame({"node": range(N), "age": AGES}) if "rows" in kinds else None
    with pytest.raises(InputError, match=problem):
        load(columns__json=kinds, features=frame)


@pytest.mark.parametrize("cell", [[0.5, 1.0], {"x": 1}, b"\x00", np.zeros(3), {"a", "b"}])
def test_cells_of_many_values_are_refused(cell):
    nodes = pd.DataFrame({"node": range(N), "emb": [None, *([cell] * (N - 1))], "label": KINDS})
    with pytest.raises(InputError, match="column 'emb' holds more than one number or word"):
        Task.from_frames(nodes, EDGES, target="label", key="node")


def test_a_name_of_many_letters_is_shown_in_part(load):
    long = "x" * 10_000
    with pytest.raises(InputError, match=r"'x{57}\.\.\.'") as caught:
        load(
            edges=pd.concat([EDGES, pd.DataFrame({"source": [long], "target": ["0"]})]),
            features=pd.DataFrame({"node": range(N), "age": AGES}),
        )
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize("index", ["index", "level_0", ""])
def test_numbers_to_learn_name_no_nodes_beside_the_numbers_of_rows(load, index):
    for target in (None, "rank"):
        ranks = pd.DataFrame({index: range(N), "rank": PLACES})
        task = load({"target": target}, labels=None, targets=ranks)
        assert task.ids == tuple(map(str, range(N)))
        assert task.y.flatten().tolist() == PLACES


@pytest.mark.parametrize("first", ["index", "person"])
@pytest.mark.parametrize("target", ["target", "rank"])
def test_a_column_of_features_that_is_learned_names_no_nodes(load, first, target):
    frame = pd.DataFrame({first: range(N), "age": AGES, target: PLACES})
    task = load({"target": target}, labels=None, features=frame)
    assert task.ids == tuple(map(str, range(N)))
    assert task.y.flatten().tolist() == PLACES


@pytest.mark.parametrize("table", ["features", "targets"])
def test_a_column_called_id_that_is_learned_names_no_nodes(load, table):
    frame = pd.DataFrame({"person": range(N), "id": PLACES})
    frame = frame.assign(age=AGES) if table == "features" else frame
    task = load({"target": "id"}, **{"labels": None, table: frame})
    assert task.ids == tuple(map(str, range(N)))
    assert task.y.flatten().tolist() == PLACES


def test_numbers_of_rows_are_not_learned(load):
    frame = pd.DataFrame({"index": range(N), "customer": PLACES, "rent": AGES})
    task = load(labels=None, targets=frame)
    assert task.ids == tuple(map(str, PLACES))
    assert task.y.flatten().tolist() == AGES
    with pytest.raises(InputError, match="no column of numbers beside 'rank'"):
        load(labels=None, targets=pd.DataFrame({"rank": PLACES, "index": range(N)}))


def test_numbers_of_rows_name_the_nodes_where_they_name_more_of_them(load):
    edges = EDGES + 1
    frame = pd.DataFrame({"index": range(1, N + 1), "rank": PLACES, "age": AGES, "label": KINDS})
    task = load({"unknown": "drop"}, edges=edges, labels=None, features=frame)
    assert sorted(map(int, task.ids)) == list(range(1, N + 1))
    assert task.num_edges == 2 * N


def test_a_later_column_called_index_joins_nothing(load):
    frame = pd.DataFrame({"city": [f"c{i % 5}" for i in range(N)], "index": PLACES, "label": KINDS})
    with pytest.raises(InputError, match="no column that names the nodes"):
        load(labels=None, features=frame)


def test_features_of_a_model_name_no_nodes(load, tmp_path):
    ages = pd.DataFrame({"person": [f"p{i}" for i in range(N)], "age": AGES})
    edges = EDGES.map(lambda i: f"p{i}")
    labels = LABELS.assign(node=[f"p{i}" for i in range(N)])
    task = load(edges=edges, labels=labels, features=ages)
    (tmp_path / "labels.csv").unlink()
    EDGES.to_csv(tmp_path / "edges.csv", index=False)
    pd.DataFrame({"person": range(N), "age": PLACES}).to_csv(tmp_path / "features.csv", index=False)
    other = load_folder(tmp_path, None, 0, preparation=task.preparation, unlabelled=True)
    assert other.ids == tuple(map(str, range(N)))
    assert np.corrcoef(other.x[:, 0], PLACES)[0, 1] == pytest.approx(1)


@pytest.mark.parametrize("kinds", ["{}", '{"price": "category"}'])
def test_one_number_with_a_comma_and_with_a_point_is_one_category(load, kinds):
    cells = [("1,5", "1.5", "abc")[i % 3] for i in range(N)]
    task = load(features=semicolons(cells), columns__json=kinds)
    assert {"price=1.5", "price=abc"} <= set(task.columns)
    assert task.x[:3, list(task.columns).index("price=1.5")].tolist() == [1, 1, 0]


def test_bad_rows_are_not_skipped_one_by_one_until_no_edge_is_left(load):
    strange = EDGES.map(lambda i: f"x{i}")
    frame = pd.DataFrame({"node": range(N), "age": AGES})
    with pytest.raises(InputError, match="node 'x0' is in no other file, as are 23 others"):
        load({"bad_rows": "skip"}, edges=strange, features=frame)


def test_labels_that_are_lists_are_compared_whole():
    y = pd.Series([["a", "b"], ["c", "d"]] * (N // 2))
    task = Task.of(EDGES.to_numpy().T, np.array(AGES, dtype=float)[:, None], y)
    assert len(task.classes) == 2


def test_rows_in_order_are_said_without_a_table_of_features(load, tmp_path):
    np.save(tmp_path / "features.npy", np.array(AGES, dtype=float)[:, None])
    task = load(columns__json='{"rows": "in order"}')
    assert task.x.shape == (N, 1)
