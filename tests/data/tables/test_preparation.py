"""Tables of any cells become features, fitted on training rows, the same again for a model."""

import json
from itertools import pairwise

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from pgso.data import load_task
from pgso.data.tables.columns import Preparation
from pgso.errors import InputError

N = 40
CITIES = ["Nice", "Lyon", "Saint-Étienne, Loire"]


def table(seed=0, rows=N, **changes):
    """Forty customers: numbers, words, dates, yes or no, and gaps."""
    rng = np.random.default_rng(seed)
    columns = {
        "customer": [f"c{i}" for i in range(rows)],
        "income": [f"{1000 * rng.lognormal(3):.2f}" for _ in range(rows)],
        "city": [CITIES[i] for i in rng.integers(0, 3, rows)],
        "since": [f"20{10 + i % 10}-0{1 + i % 9}-1{i % 9}" for i in range(rows)],
        "newsletter": ["yes" if i % 3 else "no" for i in range(rows)],
        "email": [f"c{i}@example.org" for i in range(rows)],
    } | changes
    for name in set(columns) - {"customer", "email", *changes}:
        for i in rng.choice(rows, 4, replace=False):
            columns[name][i] = ""
    return {name: cells for name, cells in columns.items() if cells is not None}


def text_of(columns, separator=","):
    rows = [list(columns), *zip(*columns.values(), strict=True)]
    return "".join(separator.join(f'"{cell}"' for cell in row) + "\n" for row in rows)


@pytest.fixture
def write(tmp_path):
    def write(columns, name="shop", separator=",", **kinds):
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        ids = columns["customer"]
        (folder / "features.csv").write_text(text_of(columns, separator))
        edges = [f"{a}{separator}{b}" for a, b in pairwise(ids)]
        (folder / "edges.csv").write_text(f"from_id{separator}to_id\n" + "\n".join(edges))
        labels = [f"{c}{separator}{i % 2}\n" for i, c in enumerate(ids)]
        (folder / "labels.csv").write_text(f"customer{separator}churn\n" + "".join(labels))
        if kinds:
            (folder / "columns.json").write_text(json.dumps(kinds))
        return folder

    return write


def kinds_of(task):
    return {column.name: column.kind for column in task.preparation.columns}


def test_every_kind_of_column_is_recognised(write):
    task = load_task(write(table()))
    assert kinds_of(task) == {
        "income": "number", "city": "category", "since": "date", "newsletter": "boolean",
        "email": "leave out",
    }  # fmt: skip
    assert task.classes == ("0", "1")  # the header of labels.csv is no customer
    assert task.num_nodes == N
    assert "40 distinct values in 40 rows looks like an id" in task.preparation.columns[-1].became
    assert task.columns[:2] == ("income", "income=(missing)")
    assert "city=Saint-Étienne, Loire" in task.columns


def test_it_is_what_scikit_learn_makes_of_the_training_rows(write):
    columns = table()
    task = load_task(write(columns))
    income = np.array([float(cell or "nan") for cell in columns["income"]])[:, None]
    since = np.array(columns["since"])[:, None]
    days = np.array(
        [[np.nan if cell == "" else np.datetime64(cell, "D").astype(float)] for cell in since[:, 0]]
    )
    city = np.array(columns["city"], dtype=object)[:, None]
    letter = np.array([{"yes": 1.0, "no": 0.0}.get(c, np.nan) for c in columns["newsletter"]])
    whole = np.hstack([income, days, letter[:, None]])
    scaled = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    truth = ColumnTransformer(
        [
            ("scaled", scaled, [0, 1]),
            ("letter", SimpleImputer(strategy="most_frequent"), [2]),
            ("missing", MissingIndicator(features="all"), [0, 1, 2]),
        ]
    )
    train = task.train.numpy()
    expected = truth.fit(whole[train]).transform(whole)
    encoder = OneHotEncoder(categories=[sorted(CITIES)], handle_unknown="ignore")
    words = encoder.fit(city[train]).transform(city).toarray()
    x = task.x.numpy()
    place = {name: c for c, name in enumerate(task.columns)}
    for c, name in enumerate(["income", "since", "newsletter"]):
        np.testing.assert_allclose(x[:, place[name]], expected[:, c], atol=1e-5)
        if f"{name}=(missing)" in place:
            np.testing.assert_array_equal(x[:, place[f"{name}=(missing)"]], expected[:, 3 + c])
    for c, name in enumerate(sorted(CITIES)):
        np.testing.assert_array_equal(x[:, place[f"city={name}"]], words[:, c])


def test_test_rows_change_nothing_of_the_preparation(write):
    columns = table()
    task = load_task(write(columns))
    changed = list(columns["income"])
    for i in task.test.tolist():
        changed[i] = "1e9"
    again = load_task(write(columns | {"income": changed}))
    assert again.preparation == task.preparation


def test_a_model_s_preparation_is_applied_to_another_table(write):
    task = load_task(write(table()))
    kept = Preparation.model_validate(json.loads(task.preparation.model_dump_json()))
    same = load_task(write(table()), unlabelled=True, preparation=kept)
    assert (same.x == task.x).all()
    other = table(seed=1, city=["Brest"] * N, email=None)
    backwards = dict(reversed(other.items()))
    strange = load_task(write(backwards, name="b"), unlabelled=True, preparation=kept)
    assert strange.columns == task.columns
    cities = [c for c, name in enumerate(strange.columns) if name.startswith("city=")]
    assert not strange.x[:, cities].any()
    with pytest.raises(InputError, match="has no column 'income', which the model was trained"):
        load_task(write(table(income=None), name="c"), unlabelled=True, preparation=kept)


def test_columns_json_overrules(write):
    folder = write(table(), income="category", email="leave out", since="leave out")
    assert kinds_of(load_task(folder)) == {
        "income": "category", "city": "category", "since": "leave out", "newsletter": "boolean",
        "email": "leave out",
    }  # fmt: skip
    with pytest.raises(
        InputError, match=r"features\.csv has no column 'town' of features; it has income"
    ):
        load_task(write(table(), town="category"))
    with pytest.raises(InputError, match=r"a column is one of number, as is, .* got 'words'"):
        load_task(write(table(), city="words"))


@pytest.mark.parametrize("separator", [";", "\t"])
def test_other_separators_read_alike(write, separator):
    task, other = load_task(write(table())), load_task(write(table(), "b", separator))
    assert (task.x == other.x).all()
    assert other.graph.num_edges == task.graph.num_edges


def test_decimal_commas_are_numbers_where_semicolons_separate(write):
    incomes = [f"{i},5" for i in range(N)]
    task = load_task(write(table(income=incomes), separator=";", income="as is"))
    assert task.x[:, task.columns.index("income")].tolist() == [i + 0.5 for i in range(N)]


@pytest.mark.parametrize(
    ("changes", "kinds", "problem"),
    [
        (
            {"income": ["12", "1O", *["7.5"] * (N - 2)]},
            {},
            r"features\.csv, line 3: column 'income': expected a finite number, got '1O'; write "
            r'one, as in 39 other lines; .* say {"income": "category"} in columns\.json',
        ),
        ({"income": ["1", "inf", *["2"] * (N - 2)]}, {}, "line 3: column 'income': .* got 'inf'"),
        ({}, {"city": "number"}, "column 'city': expected a finite number, got '[A-Z]"),
        ({}, {"city": "date"}, "column 'city': expected a date, got '[A-Z].*such as 2024-12-31"),
        ({}, {"city": "boolean"}, "column 'city': expected yes or no, .* got '[A-Z]"),
    ],
)
def test_a_wrong_cell_is_named_by_file_line_column_and_value(write, changes, kinds, problem):
    with pytest.raises(InputError, match=problem):
        load_task(write(table(**changes), **kinds))


def test_rare_categories_share_a_column(write):
    words = [f"w{i % 60}" for i in range(300)]
    task = load_task(write(table(rows=300, city=words)))
    assert sum(name.startswith("city=w") for name in task.columns) == 50
    assert "city=(other)" in task.columns
    assert (task.x[:, [name.startswith("city=") for name in task.columns]].sum(dim=1) == 1).all()


def test_days_may_be_written_in_other_ways_and_an_empty_column_is_left_out(write):
    dates = [f"{1 + i % 28}.{1 + i % 12}.2020" for i in range(N)]
    task = load_task(write(table(since=dates, city=["-"] * N)))
    assert kinds_of(task)["since"] == "date"
    left_out = {c.name: c.reason for c in task.preparation.columns if c.kind == "leave out"}
    assert left_out["city"] == "all of its cells are empty"


def test_a_bag_of_words_stays_as_it_is(write):
    rng = np.random.default_rng(0)
    words = {f"w{c}": [str(int(v)) for v in rng.random(N) < 0.05] for c in range(80)}
    task = load_task(write({"customer": table()["customer"], **words}))
    assert set(task.x.to_dense().unique().tolist()) == {0.0, 1.0}


def test_numbers_with_units_are_refused_rather_than_taken_for_names(write):
    columns = table(income=[f"{i + 1},{i + 100} €" for i in range(N)])
    with pytest.raises(InputError, match=r"line 2: column 'income': .* got '1,100 €'; .*1200\.5"):
        load_task(write(columns))
    task = load_task(write(columns, income="leave out"))
    assert "income" not in task.columns


def test_ids_alone_are_no_features(write):
    columns = table(customer_id=[str(7000 + i) for i in range(N)])
    columns = {name: columns[name] for name in ("customer", "customer_id")}
    with pytest.raises(InputError, match="every column is left out"):
        load_task(write(columns))


def test_an_index_of_pandas_names_the_nodes(write):
    columns = table()
    folder = write(columns)
    plain = load_task(folder)
    path = folder / "features.csv"
    path.write_text(path.read_text().replace('"customer"', '""', 1))
    indexed = load_task(folder)
    assert indexed.columns == plain.columns
    assert indexed.x.tolist() == plain.x.tolist()


def test_names_that_differ_are_shown(write):
    columns = table()
    folder = write(columns)
    path = folder / "features.csv"
    path.write_text(path.read_text().replace('"c7"', '"C7"'))
    with pytest.raises(InputError, match=r"no row for node 'c7' of labels\.csv, and names 'C7'"):
        load_task(folder)


def test_a_quotation_mark_that_is_not_closed_is_named_by_its_line(write):
    folder = write(table())
    path = folder / "features.csv"
    path.write_text(path.read_text().replace('"c7"', '"c7'))
    with pytest.raises(InputError, match=r"features\.csv, line 9: its quotation marks do not fit"):
        load_task(folder)


@pytest.mark.parametrize("row", [1, N - 1])  # one trains, one does not
def test_a_gap_in_a_column_that_stays_as_it_is_is_refused(write, row):
    numbers = [str(i) for i in range(N)]
    numbers[row] = ""
    with pytest.raises(InputError, match=r'got \'\'; write one, or say "number" in columns.json'):
        load_task(write(table(income=numbers), income="as is"))


def test_gaps_in_a_bag_of_words_are_marked(write):
    words = {f"w{c}": [str(int(i == c)) for i in range(N)] for c in range(70)}
    words["w3"][:20] = 20 * [""]
    task = load_task(write({"customer": table()["customer"], **words}))
    assert task.columns[4] == "w3=(missing)"
    marked = task.x.to_dense()[:, 4]
    assert marked[:20].all()
    assert not marked[20:].any()


def test_a_column_that_is_called_paid_is_no_id(write):
    paid = [str(7 * i) for i in range(N)]
    task = load_task(write({"customer": table()["customer"], "paid": paid, "shopId": paid}))
    assert kinds_of(task) == {"paid": "number", "shopId": "leave out"}
