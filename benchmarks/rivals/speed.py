"""``python -m benchmarks.rivals speed``: one table of times against PyG, torch and scipy.

What is compared takes turns, on one thread, in CPU time: ratios hold roughly even if the machine is
busy, milliseconds do not. Every way computes the same numbers, which is checked before the clock.
"""

import json
import os
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import scipy.sparse
import torch
from torch import Tensor
from torch_geometric.nn import GCNConv, SimpleConv
from torch_geometric.nn.conv.gcn_conv import gcn_norm

import pgso
from benchmarks.graphs import power_law_edges
from benchmarks.measure import take_turns
from benchmarks.rivals.field import RESULTS

WAYS = {
    "edge_index": "PyG, edge_index",
    "csr": "PyG, torch CSR",
    "compiled": "PyG, edge_index, torch.compile",
    "scipy": "scipy CSR",
}
SHAPES = {
    "2,700 nodes, 10,500 edges": (2_708, 10_556),
    "20,000 nodes, 300,000 edges": (20_000, 300_000),
}
F, DEGREE, ROUNDS = 64, 10, 7
WHEELS = ("pyg_lib", "torch_sparse")
Calls = dict[str, Callable[[], Any]]


def products(edges: Tensor, n: int) -> Calls:
    """A x, without gradients."""
    x = torch.randn(n, F)
    op = pgso.shift(pgso.Graph.from_edge_index(edges, num_nodes=n), "adjacency")
    conv = SimpleConv(aggr="sum")
    A = _csr(edges, torch.ones(edges.size(1)), n)
    matrix, columns = _scipy(A), x.numpy()
    return {
        "pgso": lambda: op @ x,
        "edge_index": lambda: conv(x, edges),
        "csr": lambda: A @ x,
        "compiled": _compiled(conv, x, edges),
        "scipy": lambda: torch.from_numpy(matrix @ columns),
    }


def gcn_steps(edges: Tensor, n: int) -> Calls:
    """One GCN layer forward and backward; ours learns its seven scalars on top."""
    x, g = torch.randn(n, F, requires_grad=True), torch.randn(n, F)
    graph = pgso.Graph.from_edge_index(edges, num_nodes=n)
    ours, theirs = pgso.GCNConv(F, F, pgso.PGSO("gcn")), GCNConv(F, F)
    with torch.no_grad():
        ours.lin.weight.copy_(theirs.lin.weight)
    index, weight = gcn_norm(edges, num_nodes=n)
    P = _csr(index, weight, n)

    def step(forward: Callable[[], Tensor]) -> Callable[[], Tensor]:
        def call() -> Tensor:
            out = forward()
            out.backward(g)
            x.grad = None
            return out.detach()

        return call

    cached = GCNConv(F, F, cached=True)
    cached.load_state_dict(theirs.state_dict())
    compiled = _compiled(cached, x, edges)
    return {
        "pgso": step(lambda: ours(x, graph)),
        "edge_index": step(lambda: cached(x, edges)),
        "csr": step(lambda: P @ theirs.lin(x) + theirs.bias),
        "compiled": step(compiled) if compiled else None,
    }


def chebyshev(edges: Tensor, n: int) -> Calls:
    """A polynomial of degree 10 of GCN's operator, by the three-term recursion."""
    x = torch.randn(n, F)
    coefficients = torch.rand(DEGREE + 1).tolist()
    op = pgso.shift(pgso.Graph.from_edge_index(edges, num_nodes=n), "gcn")
    polynomial = pgso.polynomial(op, coefficients, basis="chebyshev")
    index, weight = gcn_norm(edges, num_nodes=n)
    conv, P = SimpleConv(aggr="sum"), _csr(index, weight, n)
    matrix, columns = _scipy(P), x.numpy()

    def recursion(apply: Callable[[Any], Any], x: Any) -> Any:
        before, now = x, apply(x)
        out = coefficients[0] * before + coefficients[1] * now
        for c in coefficients[2:]:
            before, now = now, 2 * apply(now) - before
            out = out + c * now
        return out

    def by_messages(x: Tensor) -> Tensor:
        return recursion(lambda v: conv(v, index, weight), x)

    return {
        "pgso": lambda: polynomial @ x,
        "edge_index": lambda: by_messages(x),
        "csr": lambda: recursion(lambda v: P @ v, x),
        "compiled": _compiled(by_messages, x),
        "scipy": lambda: torch.from_numpy(recursion(lambda v: matrix @ v, columns)),
    }


def batches() -> Calls:
    """128 new graphs of 25 nodes: prepared, then one GCN layer forward and backward."""
    parts = [power_law_edges(25, 60, seed) + 25 * seed for seed in range(128)]
    edges, n = torch.cat(parts, dim=1), 25 * 128
    x, g = torch.randn(n, F, requires_grad=True), torch.randn(n, F)
    ours, theirs = pgso.GCNConv(F, F, pgso.PGSO("gcn")), GCNConv(F, F)
    with torch.no_grad():
        ours.lin.weight.copy_(theirs.lin.weight)

    def step(forward: Callable[[Tensor], Tensor]) -> Callable[[], Tensor]:
        def call() -> Tensor:
            out = forward(edges.clone())  # a batch that has not been seen
            out.backward(g)
            x.grad = None
            return out.detach()

        return call

    def by_csr(edges: Tensor) -> Tensor:
        index, weight = gcn_norm(edges, num_nodes=n)
        out: Tensor = _csr(index, weight, n) @ theirs.lin(x) + theirs.bias
        return out

    return {
        "pgso": step(lambda new: ours(x, pgso.Graph.from_edge_index(new, num_nodes=n))),
        "edge_index": step(lambda new: theirs(x, new)),
        "csr": step(by_csr),
    }


def measured(name: str, calls: Calls, failed: set[str]) -> dict[str, Any]:
    """Median milliseconds of every way, after checking that all give the same."""
    known = {way: call for way, call in calls.items() if call is not None}
    expected = known["pgso"]()
    for way, call in list(known.items()):
        try:
            out = call()
        except Exception as error:
            if way != "compiled":
                raise
            failed.add(type(error).__name__)
            del known[way]
            continue
        torch.testing.assert_close(out, expected, rtol=1e-3, atol=1e-3)
    times = take_turns(*known.values(), rounds=ROUNDS, clock=time.process_time)
    row = {"name": name, "ms": dict(zip(known, times, strict=True))}
    print(row, flush=True)
    return row


def main(arguments: list[str]) -> None:
    """Measure, and write ``results/rivals/speed.json``."""
    del arguments
    torch.set_num_threads(1)
    torch.manual_seed(0)
    rows, failed = [], set[str]()
    for shape, (n, count) in SHAPES.items():
        edges = power_law_edges(n, count)
        for text, calls in (
            ("A x", products),
            ("a GCN step (ours learns S too)", gcn_steps),
            (f"a Chebyshev filter of degree {DEGREE}", chebyshev),
        ):
            rows.append(measured(f"{text}, {shape}", calls(edges, n), failed))
    rows.append(
        measured("a GCN step on 128 new graphs of 25 nodes (ours learns S too)", batches(), failed)
    )
    missing = [f"{name} is not installed here." for name in WHEELS if find_spec(name) is None]
    missing += [f"torch.compile did not compile ({name})." for name in sorted(failed)]
    result = {
        "torch": torch.__version__,
        "load": os.getloadavg()[0],
        "ways": WAYS,
        "missing": missing,
        "rows": rows,
    }
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "speed.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def _compiled(function: Callable[..., Any], *arguments: Any) -> Callable[[], Any]:
    compiled = torch.compile(function, dynamic=False)
    return lambda: compiled(*arguments)


def _csr(edges: Tensor, weight: Tensor, n: int) -> Tensor:
    indices = torch.stack([edges[1], edges[0]])
    return torch.sparse_coo_tensor(indices, weight, (n, n)).coalesce().to_sparse_csr()


def _scipy(A: Tensor) -> Any:
    parts = (A.values().numpy(), A.col_indices().numpy().astype(np.int32))
    return scipy.sparse.csr_array((*parts, A.crow_indices().numpy().astype(np.int32)), A.shape)
