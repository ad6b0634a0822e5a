"""The graph, prepared once: sorted, merged, with degrees and transpose."""

from pgso.graph.edge_values import EdgeList
from pgso.graph.graph import Graph
from pgso.graph.memo import Memo, for_any_mode, gradients_again, is_transformed, learns
from pgso.graph.pattern import Pattern, Sample, Structure
from pgso.graph.product import edge_dots, product, products, row_dots, turn, weighted_product
from pgso.graph.relations import Relations

as_graph = Graph.of  # its older name

__all__ = [
    "EdgeList",
    "Graph",
    "Memo",
    "Pattern",
    "Relations",
    "Sample",
    "Structure",
    "as_graph",
    "edge_dots",
    "for_any_mode",
    "gradients_again",
    "is_transformed",
    "learns",
    "product",
    "products",
    "row_dots",
    "turn",
    "weighted_product",
]
