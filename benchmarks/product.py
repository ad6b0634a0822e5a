"""γx forward and backward, for x and the seven scalars, against what there is."""

import torch
from torch import Tensor

from benchmarks.graphs import S0, F, arxiv_step, power_law_edges
from benchmarks.measure import Row, at_most, faster, peak_memory, take_turns
from pgso.data import load_task
from pgso.data.batch import in_fast_order
from pgso.errors import InputError
from pgso.graph import EdgeList, Graph, product
from pgso.gso.shift import apply_pgso, shift


def run() -> list[Row]:
    edge_index, graph, x, g = arxiv_step()
    n = graph.num_nodes
    S = torch.tensor(S0, requires_grad=True)
    entries = shift(graph, S.detach()).entries()
    assert graph.pattern.rowptr is not None
    fixed = torch.sparse_csr_tensor(graph.pattern.rowptr, graph.pattern.col, entries, (n, n))

    def learned() -> None:
        apply_pgso(x, graph, S).backward(g)
        x.grad = S.grad = None  # so that the next call's gradients are new memory

    def messages() -> None:
        apply_pgso(x, EdgeList.of(edge_index, None, n), S).backward(g)
        x.grad = S.grad = None

    def fixed_csr() -> None:
        x.grad = None
        (fixed @ x).backward(g)

    def bare_products() -> None:
        product(graph.pattern, entries, x.detach())
        product(graph.pattern, entries, g)

    ours, csr, floor = take_turns(learned, fixed_csr, bare_products)
    ours_again, scatter = take_turns(learned, messages, rounds=3)
    memory, scatter_memory = peak_memory(learned), peak_memory(messages)
    buffer = n * F * 4 / 2**20
    return [
        faster("γx and 7 gradients vs gather/scatter, time", ours_again, scatter, 8),
        faster("γx and 7 gradients vs gather/scatter, peak MiB", memory, scatter_memory, 4),
        faster("γx and 7 gradients vs fixed torch CSR", ours, csr, 1.3),
        at_most("γx and 7 gradients vs two bare products", ours, floor, 2),
        at_most("peak extra memory in buffers of n x F", memory, buffer, 4),
        _cost_per_edge(edge_index, n),
        *_ordered(),
    ]


def _ordered() -> list[Row]:
    """The published order of ogbn-arxiv's nodes against ours, if the data is there."""
    try:
        task = load_task("ogbn-arxiv-topicbag")
    except InputError:
        return []
    steps = []
    for graph in (in_fast_order(task).graph, task.graph):
        n = graph.num_nodes
        x, g = torch.randn(n, F, requires_grad=True), torch.randn(n, F)
        S = torch.tensor(S0, requires_grad=True)

        def step(graph: Graph = graph, x: Tensor = x, g: Tensor = g, S: Tensor = S) -> None:
            x.grad = S.grad = None
            apply_pgso(x, graph, S).backward(g)

        steps.append(step)
    ordered, published = take_turns(*steps, rounds=9)
    name = "γx and 7 gradients on ogbn-arxiv's graph, ordered vs as published"
    return [faster(name, ordered, published, 1.25)]


def _cost_per_edge(small_edges: Tensor, small_n: int) -> Row:
    """Milliseconds per million edges at ten times the size, against the small graph's."""
    costs = []
    for edge_index, n in [
        (small_edges, small_n),
        (power_law_edges(10 * small_n, 23_200_000), 10 * small_n),
    ]:
        graph = Graph.from_edge_index(edge_index, num_nodes=n)
        x, g = torch.randn(n, F, requires_grad=True), torch.randn(n, F)
        S = torch.tensor(S0, requires_grad=True)

        def step(graph: Graph = graph, x: Tensor = x, g: Tensor = g, S: Tensor = S) -> None:
            x.grad = S.grad = None
            apply_pgso(x, graph, S).backward(g)

        (time,) = take_turns(step, rounds=3)
        costs.append(time / graph.num_edges * 1e6)
    return at_most("cost per million edges, 23M vs 2.3M edges", costs[1], costs[0], 1.5)
