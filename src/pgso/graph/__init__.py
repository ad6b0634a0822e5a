"""The graph, prepared once: sorted, merged, with degrees and transpose."""

from pgso.graph.edge_values import EdgeList
from pgso.graph.graph import Graph
from pgso.graph.memo import Memo, for_any_mode, is_eager, learns
from pgso.graph.pattern import Pattern, Sample, Structure
from pgso.graph.product import product, row_dots, turn, weighted_product
from pgso.graph.relations import Relations

__all__ = [
    "EdgeList",
    "Graph",
    "Memo",
    "Pattern",
    "Relations",
    "Sample",
    "Structure",
    "for_any_mode",
    "is_eager",
    "learns",
    "product",
    "row_dots",
    "turn",
    "weighted_product",
]
