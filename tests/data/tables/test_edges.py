"""Which columns of a table of edges are its ends and its weight, and what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgso.data import load_task
from pgso.data.tables.edges import read_edges as edges_of
from pgso.data.tables.reader import read_table
from pgso.errors import InputError


def read_edges(path, weight=None):
    return edges_of(read_table(path), set(), weight)


WORDS = st.text("ab1 é", min_size=1, max_size=3).filter(lambda word: word.strip())
ROWS = st.lists(st.tuples(WORDS, WORDS, st.floats(-9, 9)), min_size=1, max_size=8)


@given(rows=ROWS)
def test_a_plain_table_reads_as_a_quoted_one_which_goes_line_by_line(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("edges")
    header = [("source", "target", "weight")]
    plain, quoted = folder / "plain.csv", folder / "quoted.csv"
    plain.write_text("".join(f"{a},{b},{w}\n" for a, b, w in header + rows))
    quoted.write_text("".join(f'"{a}","{b}",{w}\n' for a, b, w in header + rows))
    fast, slow = map(read_edges, (plain, quoted))
    expected = list(dict.fromkeys(w.strip() for r in rows for w in r[:2]))
    assert list(fast.names) == list(slow.names) == expected
    assert fast.ends.tolist() == slow.ends.tolist()
    assert fast.weight.tolist() == slow.weight.tolist() == [w for *_, w in rows]


def test_columns_come_in_any_order_of_names_that_are_known(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text("relation,from,to,amount\nbuys,a,b,2\nsells,b,a,3\n")
    edges = read_edges(path)
    assert (tuple(edges.names), edges.relations) == (("a", "b"), ("buys", "sells"))
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
    edges = read_edges(path)
    assert tuple(edges.names) == ("a", "b")
    assert edges.ends.tolist() == [[0, 1], [1, 0]]
    assert edges.weight.tolist() == [2, 3]


def test_of_several_numbers_an_edge_may_choose_its_weight(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text("source,target,age,amount\na,b,1,2\n")
    assert read_edges(path, "amount").weight.tolist() == [2]
    assert read_edges(path, "age").weight.tolist() == [1]
    assert read_edges(path).weight.tolist() == [2]
    assert read_edges(path).notes[0].startswith("edges.csv: 'age' left out")
    with pytest.raises(InputError, match="no column 'price' to take weights from; it has source"):
        read_edges(path, "price")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("source,target\na,b\n,c\n", "line 3: column 'source': expected the name of a node"),
        ("a,b,1\nb,c,x\n", "line 2: column 'weight': expected a finite number, got 'x'"),
        ("source,target,count\nb,c,inf\n", "line 2: column 'count': expected a finite number"),
        ("source,target,weight\na,b,1e300\n", "'weight': expected a number up to .*, got '1e300'"),
        ("source|target\na|b\n", r"line 1: .* got 1 \('source\|target'\).* semicolons or tabs"),
        ("source,target,relation\na,b,\n", "line 2: column 'relation': a relation cannot be"),
        ("graph,source,target\n,a,b\n", "line 2: column 'graph': expected the name of a graph"),
        ("source,target,count,w\na,b,1,2\n", "both 'count' and 'w' may be the weight; choose one"),
        ("a,b\nb\n", "line 2: expected 2 cells, got 1"),
        ("a\nb\n", "line 1: expected 2 or 3 cells, got 1"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, text, problem):
    path = tmp_path / "edges.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=problem):
        read_edges(path)


def test_payments_both_ways_keep_their_direction(tmp_path):
    (tmp_path / "edges.csv").write_text("source,target,weight\nann,bob,2\nbob,cid,1\nbob,ann,5\n")
    (tmp_path / "labels.csv").write_text("node,label\nann,a\nbob,b\ncid,a\n")
    task = load_task(tmp_path)
    assert task.graph.edge_index.t().tolist() == [[1, 0], [0, 1], [1, 2]]
    assert task.graph.edge_weight.tolist() == [5, 2, 1]
    assert any("keep their direction, since the edge between 'ann' and" in n for n in task.notes)
    assert load_task(tmp_path, undirected=False).num_edges == 3
