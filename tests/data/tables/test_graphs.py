"""Edge lists and sparse matrices that people, and attackers, write."""

import numpy as np
import pytest
import scipy.sparse

from pgso.data.tables.archives import read_edge_list, read_sparse_matrix
from pgso.errors import InputError


@pytest.mark.parametrize(
    "text",
    [
        "0,1\n1,2\n",
        "0\t1\n1\t2\n",
        "0;1\n1;2\n",
        "0  1\n1 2\n",
        "# SNAP\n% more\nfrom,to\n0,1\n1,2",
    ],
)
def test_the_ways_to_write_an_edge_list_read_alike(tmp_path, text):
    (tmp_path / "edges.csv").write_text(text)
    assert read_edge_list(tmp_path / "edges.csv").edge_index.tolist() == [[0, 1], [1, 2]]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"0,1\n0,x\n", "is not an edge list"),
        (b"0\n1\n", "1 columns"),
        (b"0,-1\n", "whole numbers from 0 on"),
        (b"0,1e300\n", "whole numbers from 0 on"),
        (b"0,1\n0,nan\n", "whole numbers from 0 on"),
        (b"\xff\xfe0,1\n", "line 1: .* is not UTF-8 text"),
        (b"", "is empty"),
        (b"# nothing\n", "no lines but comments"),
        (b"0,1\n1,300000000\n", "would have 300000001 nodes"),
    ],
)
def test_what_is_no_edge_list_is_one_sentence(tmp_path, content, problem):
    (tmp_path / "edges.csv").write_bytes(content)
    with pytest.raises(InputError, match=problem):
        read_edge_list(tmp_path / "edges.csv")


def test_a_short_list_may_leave_out_most_numbers_up_to_300_000(tmp_path):
    (tmp_path / "edges.csv").write_text("0,299999\n")
    assert read_edge_list(tmp_path / "edges.csv").num_nodes == 3 * 10**5
    (tmp_path / "edges.csv").write_text("0,300000\n")
    with pytest.raises(InputError, match="1 edges and would have 300001 nodes, at most 300000"):
        read_edge_list(tmp_path / "edges.csv")


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr", "dia"])
def test_every_format_of_scipy_is_read(tmp_path, kind):
    dense = np.array([[0, 2.0, 0], [2, 0, 1], [0, 1, 0]])
    scipy.sparse.save_npz(tmp_path / "a.npz", scipy.sparse.coo_array(dense).asformat(kind))
    graph = read_sparse_matrix(tmp_path / "a.npz")
    assert graph.num_nodes == 3
    assert graph.num_edges == 4


WHOLE = {
    "format": np.array(b"csr"),
    "shape": np.array([3, 3]),
    "data": np.ones(2),
    "indices": np.array([0, 1]),
    "indptr": np.array([0, 1, 2, 2]),
}


@pytest.mark.parametrize(
    "changes",
    [
        {"indptr": np.array([0, 10**9, 2, 2])},
        {"indptr": np.array([0, -(10**6), 2, 2])},
        {"indptr": np.array([0, 2, 1, 2])},
        {"indptr": np.array([0, 1, 2, 10**9])},
        {"indices": np.array([0, 10**9])},
        {"indices": np.array([0, -1])},
        {"indices": np.array([0.0, 1.0])},
        {"indices": np.zeros((2, 1), dtype=int)},
        {"shape": np.array([3])},
        {"shape": np.array([10**9, 10**9])},
        {"shape": np.array([-3, 3])},
        {"data": np.array(["a", "b"])},
        {"format": np.array("lil")},
        {"format": np.array([b"csr", b"csr"])},
        {"format": np.array(b"coo"), "row": np.array([0, 10**9]), "col": np.array([0, 1])},
        {"format": np.array(b"coo"), "row": np.array([0, 1]), "col": np.array([-1, 1])},
        {"format": np.array(b"dia"), "offsets": np.array([[1]])},
    ],
    ids=str,
)
def test_a_crafted_matrix_is_refused_before_compiled_code_reads_it(tmp_path, changes):
    np.savez(tmp_path / "a.npz", **{**WHOLE, **changes})
    with pytest.raises(InputError):
        read_sparse_matrix(tmp_path / "a.npz")
