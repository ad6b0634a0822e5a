"""The graph in numbers: degrees, components, homophily, and how many labels there are."""

import torch

from pgso.data.description import component_sizes, homophily
from pgso.finding.problem import Problem
from pgso.graph.degrees import received_weight
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
        isolated=int((received_weight(graph) == 0).sum()),
        components=len(component_sizes(graph)),
        adjusted_homophily=adjusted_homophily(problem),
        num_features=problem.num_features,
        num_labels=len(problem.train),
        label_share=len(problem.train) / max(items, 1),
        classes=shares,
    )


def adjusted_homophily(problem: Problem) -> float | None:
    """Of training and validation labels, see :func:`pgso.data.description.homophily`."""
    if problem.kind != "node" or not problem.classes:
        return None
    labelled = torch.cat([problem.train, problem.val])
    return homophily(problem.graph, problem.y, labelled, len(problem.classes))
