"""Everything a user may get wrong is one clear sentence, before torch crashes or is wrong."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse
import torch
from torch_geometric.data import Data

import pgso
from pgso import PGSO, Graph, apply_pgso, dense_pgso, spectrum
from pgso.errors import InputError, UnknownNameError
from pgso.gso.parameters import PGSOParameters

EDGES = torch.tensor([[0, 1], [1, 0]])
GRAPH = Graph.from_edge_index(EDGES)
X = torch.eye(2)
NAN, INF = float("nan"), float("inf")
S = (0, 1, 0, 0, -0.5, -0.5, 1)

graph = Graph.from_edge_index
EDGE_INDEX = {
    "a list": (lambda: graph([[0, 1], [1, 0]]), "edge_index must be a tensor"),
    "an array": (lambda: graph(np.zeros((2, 3), dtype=int)), "got ndarray"),
    "nothing": (lambda: graph(None), "got NoneType"),
    "three rows": (lambda: graph(torch.zeros(3, 5).long()), r"shape \(2, E\), got \(3, 5\)"),
    "turned round": (lambda: graph(torch.zeros(5, 2).long()), r"shape \(2, E\)"),
    "one row": (lambda: graph(torch.zeros(4).long()), r"shape \(2, E\)"),
    "floats": (lambda: graph(EDGES.float()), "must hold integers"),
    "booleans": (lambda: graph(EDGES.bool()), "must hold integers"),
    "a negative id": (lambda: graph(EDGES - 1), "negative node id -1"),
    "an id too large": (lambda: graph(EDGES, num_nodes=1), "names node 1"),
    "an id too large for x": (lambda: apply_pgso(X[:1], EDGES, S), "rows of x"),
    "negative n": (lambda: graph(EDGES, num_nodes=-1), "num_nodes must be an integer"),
    "fractional n": (lambda: graph(EDGES, num_nodes=2.5), "num_nodes must be an integer"),
    "n in words": (lambda: graph(EDGES, num_nodes="two"), "num_nodes must be an integer"),
    "10^12 nodes": (lambda: graph(EDGES, num_nodes=10**12), "at most 2147483647 nodes"),
    "id 2^62": (lambda: graph(EDGES * 2**62), "at most 2147483647 nodes"),
    "no values": (lambda: graph(EDGES.to("meta")), "a dense tensor with values"),
    "sparse": (lambda: graph(EDGES.to_sparse()), "a dense tensor with values"),
}
EDGE_WEIGHT = {
    "NaN": (lambda: graph(EDGES, torch.tensor([1, NAN])), "finite, got nan at position 1"),
    "infinite": (lambda: graph(EDGES, torch.tensor([-INF, 1])), "finite, got -inf"),
    "too few": (lambda: graph(EDGES, torch.ones(1)), r"shape \(2,\), got \(1,\)"),
    "too many": (lambda: graph(EDGES, torch.ones(3)), "one number per edge"),
    "two columns": (lambda: graph(EDGES, torch.ones(2, 2)), "one number per edge"),
    "a single number": (lambda: graph(EDGES, torch.tensor(1.0)), "one number per edge"),
    "complex": (lambda: graph(EDGES, torch.ones(2, dtype=torch.complex64)), "real"),
    "a list": (lambda: graph(EDGES, [1.0, 1.0]), "edge_weight must be a tensor, got list"),
    "a list, cached": (lambda: apply_pgso(X, EDGES, S, [1.0, 1.0]), "edge_weight must be a tensor"),
    "with a Graph": (lambda: apply_pgso(X, GRAPH, S, torch.ones(2)), "has its own weights"),
    "on another device": (lambda: graph(EDGES, torch.ones(2, device="meta")), "one device"),
}
FEATURES = {
    "too few rows": (lambda: apply_pgso(X[:1], GRAPH, S), "one row per node"),
    "too many rows": (lambda: apply_pgso(torch.ones(3, 2), GRAPH, S), r"\(2, F\), got \(3, 2\)"),
    "turned round": (lambda: apply_pgso(torch.ones(3, 3, 4), GRAPH, S), "one row per node"),
    "a single number": (lambda: apply_pgso(torch.tensor(1.0), GRAPH, S), "one row per node"),
    "integers": (lambda: apply_pgso(X.long(), GRAPH, S), "floating-point"),
    "complex": (lambda: apply_pgso(X.to(torch.complex64), GRAPH, S), "floating-point"),
    "a list": (lambda: apply_pgso([[1.0], [2.0]], GRAPH, S), "got list"),
    "nothing": (lambda: apply_pgso(None, GRAPH, S), "got NoneType"),
    "sparse": (lambda: apply_pgso(X.to_sparse(), GRAPH, S), "dense"),
    "8 bits": (lambda: apply_pgso(X.to(torch.float8_e4m3fn), GRAPH, S), "float8"),
    "on another device": (lambda: apply_pgso(X.to("meta"), GRAPH, S), "graph.to"),
    "list, module": (lambda: PGSO()([[1.0], [2.0]], EDGES), "x must be a tensor"),
    "array, module": (lambda: PGSO()(np.eye(2), EDGES), "x must be a tensor"),
    "integers, module": (lambda: PGSO()(X.long(), GRAPH), "floating-point"),
    "a single number, module": (lambda: PGSO()(torch.tensor(1.0), GRAPH), "one row per node"),
    "nothing, module": (lambda: PGSO()(None, GRAPH), "got NoneType"),
}
PARAMETERS = {
    "six": (lambda: apply_pgso(X, GRAPH, S[:6]), "seven numbers .*, got 6"),
    "eight": (lambda: PGSO((*S, 0)), "seven numbers .*, got 8"),
    "a number": (lambda: PGSO(3.0), "seven numbers .* or a preset's name, got 3.0"),
    "nothing": (lambda: apply_pgso(X, GRAPH, None), "seven numbers"),
    "NaN": (lambda: apply_pgso(X, GRAPH, (*S[:6], NAN)), "a must be finite, got nan"),
    "infinite": (lambda: PGSO((INF, *S[1:])), "m1 must be finite, got inf"),
    "NaN tensor": (lambda: dense_pgso(X, torch.full((7,), NAN)), "m1 must be finite"),
    "words": (lambda: PGSO(["one"] * 7), "m1 must be a single number, got 'one'"),
    "complex": (lambda: PGSO([1j] * 7), "m1 must be a single number"),
    "a matrix": (lambda: apply_pgso(X, GRAPH, torch.ones(7, 7)), "m1 must be a single number"),
    "a column": (lambda: apply_pgso(X, GRAPH, torch.ones(7, 1)), "m1 must be a single number"),
    "vectors": (lambda: apply_pgso(X, GRAPH, [torch.ones(1)] * 7), "m1 must be a single number"),
    "arrays": (lambda: PGSO(np.ones((7, 1))), "m1 must be a single number"),
    "too large": (lambda: PGSO((10**400, *S[1:])), "m1 must be finite"),
    "a wrong name": (lambda: apply_pgso(X, GRAPH, "gcnn"), "Did you mean 'gcn'"),
    "a far name": (lambda: PGSO("qqq"), "Known: adjacency, gat, gcn"),
    "learn a wrong name": (lambda: PGSO(learn=["m4"]), "no parameter is called 'm4'. Did you mean"),
    "learn a number": (lambda: PGSO(learn=3), "learn takes True, False or names"),
    "directly": (lambda: PGSOParameters.of(["m"] * 7), "m1 must be a single number"),
}
OTHER_FORMS = {
    "dense list": (lambda: dense_pgso([[0]], S), "dense n x n tensor"),
    "dense sparse": (lambda: dense_pgso(X.to_sparse(), S), "dense n x n tensor"),
    "dense oblong": (lambda: dense_pgso(torch.ones(2, 3), S), r"square, got \(2, 3\)"),
    "dense vector": (lambda: dense_pgso(torch.ones(2), S), "square"),
    "dense complex": (lambda: dense_pgso(X.to(torch.complex64), S), "real"),
    "dense NaN": (lambda: dense_pgso(torch.full((2, 2), NAN), S), "finite"),
    "oblong matrix": (lambda: Graph.from_dense(torch.ones(2, 3)), "square"),
    "ragged list": (lambda: Graph.from_dense([[0, 1], [0]]), "numeric and square"),
    "words": (lambda: Graph.from_dense([["a"]]), "numeric and square"),
    "NaN matrix": (lambda: Graph.from_dense([[0, NAN], [0, 0]]), "finite"),
    "complex matrix": (lambda: Graph.from_dense(np.eye(2) * 1j), "real"),
    "sparse for dense": (lambda: Graph.from_dense(X.to_sparse()), "from_torch_sparse"),
    "dense for sparse": (lambda: Graph.from_torch_sparse(X), "from_dense"),
    "list for sparse": (lambda: Graph.from_torch_sparse([[0]]), "torch.sparse tensor, got list"),
    "oblong sparse": (lambda: Graph.from_torch_sparse(torch.ones(2, 3).to_sparse()), "square"),
    "array for scipy": (lambda: Graph.from_scipy(np.eye(2)), "scipy sparse matrix, got ndarray"),
    "oblong scipy": (lambda: Graph.from_scipy(scipy.sparse.csr_array((2, 3))), "square"),
    "complex scipy": (lambda: Graph.from_scipy(scipy.sparse.eye_array(2) * 1j), "real"),
    "NaN scipy": (lambda: Graph.from_scipy(scipy.sparse.eye_array(2) * NAN), "finite"),
    "list for networkx": (lambda: Graph.from_networkx([(0, 1)]), "networkx graph, got list"),
    "networkx words": (
        lambda: Graph.from_networkx(nx.Graph([(0, 1, {"weight": "heavy"})])),
        "'weight' must hold numbers",
    ),
    "no edges in Data": (lambda: Graph.from_data(Data(x=X)), "neither edge_index nor"),
    "ids beyond Data": (lambda: Graph.from_data(Data(edge_index=EDGES, num_nodes=1)), "node 1"),
    "half a graph": (lambda: GRAPH.to(dtype=torch.float16), "float32 or float64"),
    "an integer graph": (lambda: GRAPH.to(dtype=torch.int64), "float32 or float64"),
    "no graph": (lambda: apply_pgso(X, None, S), "graph must be a pgso.Graph"),
    "directed spectrum": (
        lambda: spectrum.gershgorin_interval(torch.tensor([[0], [1]]), S),
        "the edge 0 → 1 has no reverse",
    ),
    "empty spectrum": (
        lambda: spectrum.symmetrised(Graph.from_dense(X[:0, :0]), S),
        "without nodes",
    ),
}
OPERATOR = pgso.shift(GRAPH, "gcn")
DATA = Data(x=X, edge_index=EDGES, y=torch.tensor([0]))
ELSEWHERE = {
    "a polynomial of words": (lambda: pgso.polynomial(OPERATOR, "ab"), "must be numbers, got 'ab'"),
    "a power without end": (lambda: OPERATOR**10**9, "at most 10000, got 1000000000"),
    "half an eigenvalue": (lambda: spectrum.eigenvalues(OPERATOR, k=2.5), "a whole number or None"),
    "no dataset": (lambda: pgso.load_task(None), "name or folder must be a text or a path"),
    "a dataset of bytes": (lambda: pgso.load_task(b"karate"), "must be a text or a path, got b"),
    "a root of numbers": (lambda: pgso.load_task("Cora", root=5), "root must be a text or a path"),
    "a number among graphs": (lambda: pgso.Task.from_data([DATA, 5]), "graph 1 needs edge_index"),
    "no known label": (lambda: pgso.find(GRAPH, X, [NAN, NAN]), "no label that is known"),
    "half a channel": (lambda: pgso.GNN("gcn", 2.5, 4, 2), "in_channels must be an integer"),
    "no heads": (lambda: pgso.GNN("gat", 2, 4, 2, heads=0), "heads must be 1 or more, got 0"),
    "a name for a spec": (lambda: pgso.fit("karate"), "fit takes a RunSpec, got 'karate'"),
}
CASES = {
    f"{group}: {name}": case
    for group, cases in {
        "edge_index": EDGE_INDEX,
        "edge_weight": EDGE_WEIGHT,
        "x": FEATURES,
        "S": PARAMETERS,
        "other": OTHER_FORMS,
        "elsewhere": ELSEWHERE,
    }.items()
    for name, case in cases.items()
}


@pytest.mark.parametrize(("call", "words"), CASES.values(), ids=CASES.keys())
def test_bad_input_is_refused_in_one_sentence(call, words):
    with pytest.raises(InputError, match=words) as caught:
        call()
    message = str(caught.value)
    assert isinstance(caught.value, ValueError)
    assert "\n" not in message
    assert len(message) < 400


def test_an_unknown_name_is_a_key_error_too():
    with pytest.raises(KeyError) as caught:
        PGSO("gcnn")
    assert isinstance(caught.value, UnknownNameError)
    assert str(caught.value).startswith("no preset is called 'gcnn'. Did you mean 'gcn'?")
