"""Predictions as files that other programs read."""

import csv
import json
import sys

import numpy as np
import pandas
import pytest

from pgso.cli.predict import check_table, ranked, write_table
from pgso.errors import InputError

COLUMNS = ["id", "prediction", "p(yes)", "p(no)", "true price"]
ROWS = [["a", "no", 0.25, 0.75, None], ["b", "yes", 0.9, 0.1, 3.5], ["c", "no", 0.5, 0.5, 1.5]]
TABLE = pandas.DataFrame(ROWS, columns=COLUMNS)


def test_rows_are_ranked_by_a_class_or_a_number():
    table = ranked(TABLE, "yes")
    assert list(table)[:2] == ["rank", "id"]
    assert table[["rank", "id"]].values.tolist() == [[1, "b"], [2, "c"], [3, "a"]]
    assert ranked(TABLE, "true price")["id"].tolist() == ["b", "c", "a"]
    with pytest.raises(InputError, match="'maybe'; choose one of: yes, no, true price"):
        ranked(TABLE, "maybe")


def test_csv_and_json_hold_the_same(tmp_path):
    write_table(tmp_path / "a.csv", TABLE)
    write_table(tmp_path / "a.json", TABLE)
    lines = list(csv.DictReader((tmp_path / "a.csv").read_text().splitlines()))
    objects = json.loads((tmp_path / "a.json").read_text())
    assert [float(line["p(yes)"]) for line in lines] == [entry["p(yes)"] for entry in objects]
    assert (lines[0]["true price"], objects[0]["true price"]) == ("", None)


def test_what_is_no_number_is_null_in_json(tmp_path):
    write_table(tmp_path / "a.json", pandas.DataFrame({"low": [float("nan")]}))
    assert json.loads((tmp_path / "a.json").read_text()) == [{"low": None}]


def test_parquet_keeps_the_types(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    write_table(tmp_path / "a.parquet", TABLE)
    assert parquet.read_table(tmp_path / "a.parquet").to_pylist()[1]["p(yes)"] == 0.9


def test_parquet_without_pyarrow_is_refused_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match="pip install pyarrow"):
        check_table(tmp_path / "a.parquet")
    check_table(tmp_path / "a.csv")


def test_a_format_that_is_not_written_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"a.XLSX would not be a .XLSX; write a .csv, .json or"):
        check_table(tmp_path / "a.XLSX")
    check_table(tmp_path / "table-v1.2")


def test_numbers_are_written_with_all_their_digits(tmp_path):
    numbers = [1234567.0, 1234567891.25, 0.1, 1e39]
    short = np.array([0.1, 0.2, 1 / 3, 1e7], dtype=np.float32)  # as networks say them
    write_table(tmp_path / "a.csv", pandas.DataFrame({"price": numbers, "p(yes)": short}))
    assert (tmp_path / "a.csv").read_text().split()[1:] == [
        "1234567.0,0.1",
        "1234567891.25,0.2",
        "0.1,0.33333334",
        "1e+39,1e+07",
    ]
