import gzip

import numpy as np
import pytest

from pgso.data import load_task
from pgso.data.dataset import Sizes
from pgso.data.sources import ogb
from pgso.errors import InputError

ATOM = "5,0,4,5,3,0,2,0,0\n"
MOLHIV = {  # three molecules of 2, 3 and 1 atoms
    "raw/num-node-list": "2\n3\n1\n",
    "raw/num-edge-list": "1\n2\n0\n",
    "raw/node-feat": 6 * ATOM,
    "raw/edge": "0,1\n0,1\n1,2\n",
    "raw/graph-label": "0\n1\n0\n",
    "split/scaffold/train": "0\n",
    "split/scaffold/valid": "1\n",
    "split/scaffold/test": "2\n",
}
ARXIV = {
    "raw/num-node-list": "4\n",
    "raw/node-feat": "0.5,1\n0,0\n1,1\n0,1\n",
    "raw/node-label": "0\n1\n0\n1\n",
    "raw/edge": "0,1\n1,0\n2,3\n",
    "split/time/train": "0\n1\n",
    "split/time/valid": "2\n",
    "split/time/test": "3\n",
}


def write(folder, files):
    for name, content in files.items():
        path = folder / f"{name}.csv.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(content.encode()))


@pytest.fixture
def molhiv(tmp_path, monkeypatch):
    monkeypatch.setattr(ogb, "MOLHIV", Sizes(3, 6, 6, 9, 2))
    write(tmp_path / "ogbg_molhiv", MOLHIV)
    return tmp_path


@pytest.fixture
def arxiv(tmp_path, monkeypatch):
    monkeypatch.setitem(ogb.ARXIV, "ogbn-arxiv", ("ogbn_arxiv", Sizes(1, 4, 4, 2, 2)))
    write(tmp_path / "ogbn_arxiv", ARXIV)
    return tmp_path


def test_bonds_go_both_ways_and_atoms_are_counted_on(molhiv):
    task = load_task("ogbg-molhiv", root=molhiv)
    assert task.nodes_per_graph.tolist() == [2, 3, 1]
    assert task.graph.edge_index.tolist() == [[1, 0, 3, 2, 4, 3], [0, 1, 2, 3, 3, 4]]
    assert task.metric == "roc_auc"


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({"raw/edge": "0,1\n0,1\n"}, "do not fit each other"),
        ({"raw/num-node-list": "2\n3\n"}, "do not fit each other"),
        ({"raw/edge": "0,1\n0,9\n1,2\n"}, "an atom is 9"),
        ({"raw/edge": "0,2\n0,1\n1,2\n"}, "joins graph 0 with graph 1"),
        ({"raw/node-feat": 5 * ATOM + "500,0,4,5,3,0,2,0,0\n"}, "column 0 is 500"),
        ({"raw/node-feat": 5 * ATOM + "1,2\n"}, "line 6: expected 9 whole numbers"),
        ({"split/scaffold/train": "7\n"}, "an index of the training set is 7"),
    ],
)
def test_wrong_files_are_one_clear_error(molhiv, files, problem):
    write(molhiv / "ogbg_molhiv", files)
    with pytest.raises(InputError, match=problem):
        load_task("ogbg-molhiv", root=molhiv)


def test_a_truncated_file_is_refused(molhiv):
    path = molhiv / "ogbg_molhiv" / "raw" / "edge.csv.gz"
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(InputError, match=r"edge\.csv\.gz cannot be read"):
        load_task("ogbg-molhiv", root=molhiv)


def test_citations_are_symmetrised_unless_asked_not_to(arxiv):
    task = load_task("ogbn-arxiv", root=arxiv)
    assert task.graph.edge_index.tolist() == [[1, 0, 3, 2], [0, 1, 2, 3]]
    directed = load_task("ogbn-arxiv", root=arxiv, undirected=False)
    assert directed.graph.edge_index.tolist() == [[1, 0, 2], [0, 1, 3]]


def test_changed_files_are_read_again(arxiv):
    first, again = load_task("ogbn-arxiv", root=arxiv), load_task("ogbn-arxiv", root=arxiv)
    assert np.array_equal(first.x, again.x)
    write(arxiv / "ogbn_arxiv", {"raw/node-feat": "9.5,1\n0,0\n1,1\n0,1\n"})
    assert load_task("ogbn-arxiv", root=arxiv).x[0, 0] == 9.5


def test_substitute_features_do_not_pass_for_the_official_ones(tmp_path):
    write(tmp_path / "ogbn_arxiv", ARXIV)
    with pytest.raises(InputError, match="but ogbn-arxiv has 169343"):
        load_task("ogbn-arxiv", root=tmp_path)
