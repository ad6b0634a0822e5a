"""Small datasets in the layouts of the public ones, written by the tests."""

import pickle
from collections import defaultdict

import numpy as np
import scipy.sparse

from pgso.data.dataset import Sizes

# Two test nodes (502 and 504 of 0 ... 504), none for 503: an isolated node as in CiteSeer.
TOY_PLANETOID = Sizes(1, 505, 4, 3, 2)


def write_planetoid(folder, name="toy"):
    """2 training nodes, 500 to validate, 2 to test; edges 0-1 and 1-502, one of them twice."""
    folder.mkdir(parents=True)
    words = np.tile(np.eye(3, dtype=np.float32), (168, 1))[:502]
    words[0] = [1, 3, 0]
    classes = np.eye(2, dtype=np.int32)[np.arange(502) % 2]
    neighbours = defaultdict(list, {0: [1, 1, 0], 1: [0, 502], 502: [1], 503: [], 504: []})
    parts = {
        "allx": scipy.sparse.csr_matrix(words),
        "ally": classes,
        "x": scipy.sparse.csr_matrix(words[:2]),
        "y": classes[:2],
        "tx": scipy.sparse.csr_matrix(np.array([[0, 0, 5], [2, 2, 0]], dtype=np.float32)),
        "ty": np.array([[0, 1], [1, 0]], dtype=np.int32),
        "graph": neighbours,
    }
    for part, value in parts.items():
        (folder / f"ind.{name}.{part}").write_bytes(pickle.dumps(value, 2))
    (folder / f"ind.{name}.test.index").write_text("504\n502\n")


def write_tu(folder, name="TOY", **changes):
    """20 paths of three nodes, of two classes, each edge listed twice and one loop."""
    folder.mkdir(parents=True)
    edges = []
    for start in range(1, 61, 3):
        edges += [(start, start + 1), (start + 1, start), (start + 1, start + 2)] * 2
        edges += [(start + 2, start + 1), (start, start)]
    parts = {
        "A": [f"{j}, {i}" for j, i in edges],
        "graph_indicator": np.repeat(np.arange(1, 21), 3),
        "graph_labels": [-1, 1] * 10,
    } | changes
    for part, lines in parts.items():
        if lines is not None:
            text = "".join(f"{line}\n" for line in lines)
            (folder / f"{name}_{part}.txt").write_text(text)
