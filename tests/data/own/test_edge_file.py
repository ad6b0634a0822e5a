"""The fast reader against the slow one, and what both refuse."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgso.data import load_task
from pgso.data.own import edge_file
from pgso.data.own.edge_file import read_edges
from pgso.data.own.table import read_columns
from pgso.errors import InputError

WORDS = st.text("ab1 é", min_size=1, max_size=3).filter(lambda word: word.strip())
ROWS = st.lists(st.tuples(WORDS, WORDS, st.floats(-9, 9)), min_size=1, max_size=8)


@given(rows=ROWS)
def test_a_plain_table_reads_as_a_quoted_one_which_goes_line_by_line(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("edges")
    header = [("source", "target", "weight")]
    plain, quoted = folder / "plain.csv", folder / "quoted.csv"
    plain.write_text("".join(f"{a},{b},{w}\n" for a, b, w in header + rows))
    quoted.write_text("".join(f'"{a}","{b}",{w}\n' for a, b, w in header + rows))
    fast, slow = (read_edges(path).edges for path in (plain, quoted))
    assert fast.names == slow.names == tuple(dict.fromkeys(w.strip() for r in rows for w in r[:2]))
    assert np.array_equal(fast.ends, slow.ends)
    assert fast.weight.tolist() == slow.weight.tolist() == [w for *_, w in rows]


def test_columns_come_in_any_order_of_names_that_are_known(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text("relation,from,to,amount\nbuys,a,b,2\nsells,b,a,3\n")
    edges = read_edges(path).edges
    assert (edges.names, edges.relations) == (("a", "b"), ("buys", "sells"))
    assert edges.kinds.tolist() == [0, 1]
    assert edges.weight.tolist() == [2, 3]


@pytest.mark.parametrize(
    "text",
    ["weight,target,source\n2,b,a\n3,a,b\n", ",source,target,weight\n0,a,b,2\n1,b,a,3\n"],
    ids=["other order", "index of pandas"],
)
def test_ends_are_found_by_their_names(tmp_path, text):
    path = tmp_path / "edges.csv"
    path.write_text(text)
    edges = read_edges(path).edges
    assert edges.names == ("a", "b")
    assert edges.ends.tolist() == [[0, 1], [1, 0]]
    assert edges.weight.tolist() == [2, 3]


def test_of_several_numbers_an_edge_may_choose_its_weight(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text("source,target,age,amount\na,b,1,2\n")
    assert read_edges(path, "amount").edges.weight.tolist() == [2]
    with pytest.raises(InputError, match=r"one number at most.*--option weight=COLUMN"):
        read_edges(path)
    with pytest.raises(InputError, match="no column 'price' to take weights from; it has source"):
        read_edges(path, "price")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("source,target\na,b\n,c\n", "line 3: column 'source': expected the name of a node"),
        ("a,b,1\nb,c,x\n", "line 2: column 'weight': expected a finite number, got 'x'"),
        ("source,target,cost\nb,c,inf\n", "line 2: column 'cost': expected a finite number"),
        ("source,target,weight\na,b,1e300\n", "'weight': expected a number up to .*, got '1e300'"),
        ("source|target\na|b\n", r"line 1: .* got 1 \('source\|target'\).* semicolons or tabs"),
        ("source,target,relation\na,b,\n", "line 2: column 'relation': a relation cannot be"),
        ("graph,source,target\n,a,b\n", "line 2: column 'graph': expected the name of a graph"),
        ("a,b\nb\n", "line 2: expected 2 cells, got 1"),
        ("a\nb\n", "line 1: expected 2 or 3 cells, got 1"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, text, problem):
    path = tmp_path / "edges.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=problem):
        read_edges(path)


def test_a_large_file_is_parsed_once_and_again_when_it_changes(tmp_path, monkeypatch):
    monkeypatch.setenv("PGSO_CACHE", str(tmp_path / "copies"))
    monkeypatch.setattr(edge_file, "LARGE", 10)
    parsed = []

    def counted(path):
        parsed.append(path)
        return read_columns(path)

    monkeypatch.setattr(edge_file, "read_columns", counted)
    path = tmp_path / "edges.csv"
    path.write_text("source,target,weight,relation\nann,bob,1.5,x\nbob,cid,2,y\n")
    first, again = read_edges(path), read_edges(path)
    assert len(parsed) == 1
    assert (again.first, again.is_header) == (first.first, first.is_header)
    for one, other in zip(first.edges, again.edges, strict=True):
        assert np.array_equal(one, other)
    path.write_text("source,target\nann,bob,\nbob,cid\n".replace("bob,\n", "bob\n"))
    assert read_edges(path).edges.weight is None
    assert len(parsed) == 2


def test_an_undirected_edge_with_two_weights_is_named_with_its_lines(tmp_path):
    (tmp_path / "edges.csv").write_text("source,target,weight\nann,bob,2\nbob,cid,1\nbob,ann,5\n")
    (tmp_path / "labels.csv").write_text("node,label\nann,a\nbob,b\ncid,a\n")
    problem = r"lines 2 and 4: the edge between nodes 'ann' and 'bob' has the weight 2 .* and 5"
    with pytest.raises(InputError, match=problem):
        load_task(tmp_path)
    assert load_task(tmp_path, undirected=False).num_edges == 3


def test_a_kept_copy_is_of_the_column_that_was_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr(edge_file, "LARGE", 0)
    monkeypatch.setenv("PGSO_CACHE", str(tmp_path / "cache"))
    long = "total_minutes_of_phone_calls_in_the_year_"
    path = tmp_path / "edges.csv"
    path.write_text(f"source,target,{long}2023,{long}2024,n_1,n-1\na,b,1,2,3,4\n")
    for weight, value in ((f"{long}2023", 1), (f"{long}2024", 2), ("n_1", 3), ("n-1", 4)):
        for _ in range(2):
            assert edge_file.read_edges(path, weight).edges.weight.tolist() == [value]
