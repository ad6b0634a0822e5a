"""How a user's edges were read is said in words."""

import pytest

from pgso.cli.terminal import about_edges
from pgso.data import load_task


@pytest.mark.parametrize(
    ("undirected", "sentence"),
    [
        (True, "friends: 3 nodes, 3 undirected edges, each of which goes both ways; "),
        (False, "friends: 3 nodes, 3 directed edges, each from source to target"),
    ],
)
def test_whether_edges_have_a_direction_is_said(tmp_path, undirected, sentence):
    folder = tmp_path / "friends"
    folder.mkdir()
    (folder / "edges.csv").write_text("source,target\nann,bob\nbob,cid\ncid,cid\n")
    (folder / "labels.csv").write_text("node,label\nann,a\nbob,b\ncid,a\n")
    assert about_edges(load_task(folder, undirected=undirected)).startswith(sentence)
