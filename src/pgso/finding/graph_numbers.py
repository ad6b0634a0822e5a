"""The graph in numbers: degrees, components, homophily, and how many labels there are."""

import torch
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from pgso.finding.problem import Problem
from pgso.graph import Graph
from pgso.records.finding import GraphStatistics


def graph_statistics(problem: Problem) -> GraphStatistics:
    """What a reader wants to know first."""
    graph, items = problem.graph, len(problem.y)
    degree = graph.degree.double()
    labels = problem.y[problem.train]
    shares: tuple[float, ...] = ()
    if problem.classes:
        counts = torch.bincount(labels, minlength=len(problem.classes))
        shares = tuple((counts / counts.sum()).tolist())
    return GraphStatistics(
        num_graphs=len(problem.nodes_per_graph),
        num_nodes=graph.num_nodes,
        num_edges=graph.num_edges,
        is_directed=not graph.is_undirected,
        degree_median=float(degree.median()) if len(degree) else 0.0,
        degree_mean=float(degree.mean()) if len(degree) else 0.0,
        degree_max=float(degree.max()) if len(degree) else 0.0,
        isolated=int((graph.neighbour_weight == 0).sum()),
        components=_components(graph),
        adjusted_homophily=adjusted_homophily(problem),
        num_features=problem.num_features,
        num_labels=len(problem.train),
        label_share=len(problem.train) / max(items, 1),
        classes=shares,
    )


def adjusted_homophily(problem: Problem) -> float | None:
    r"""Whether neighbours share their class more often than by chance.

    .. math::
        h = \frac{h_\text{edge} - \sum_k p_k^2}{1 - \sum_k p_k^2}

    where :math:`h_\text{edge}` is the share of edges within a class and :math:`p_k` is class k's
    share of the edges' ends. Only edges between training and validation labels count; None if
    there are none, or all their ends are of one class.
    """
    if problem.kind != "node" or not problem.classes:
        return None
    y = torch.full((problem.graph.num_nodes,), -1)
    for part in (problem.train, problem.val):
        y[part] = problem.y[part]
    source, target = y[problem.graph.edge_index]
    known = (source >= 0) & (target >= 0)
    source, target = source[known], target[known]
    if len(source) == 0:
        return None
    ends = torch.bincount(torch.cat([source, target]), minlength=len(problem.classes)).double()
    by_chance = float((ends / ends.sum()).square().sum())
    if by_chance >= 1:
        return None
    return (float((source == target).double().mean()) - by_chance) / (1 - by_chance)


def _components(graph: Graph) -> int:
    source, target = graph.edge_index.numpy()
    matrix = coo_array(([True] * len(source), (source, target)), (graph.num_nodes,) * 2)
    return int(connected_components(matrix, directed=False, return_labels=False))
