"""The graph, prepared once: sorted, merged, with degrees and transpose."""

from pgso.graph.degrees import EdgeList as EdgeList
from pgso.graph.graph import Graph as Graph
from pgso.graph.memo import Memo as Memo
from pgso.graph.memo import can_be_read as can_be_read
from pgso.graph.memo import for_any_mode as for_any_mode
from pgso.graph.memo import is_eager as is_eager
from pgso.graph.memo import is_traced as is_traced
from pgso.graph.memo import learns as learns
from pgso.graph.pattern import Pattern as Pattern
from pgso.graph.pattern import Sample as Sample
from pgso.graph.pattern import Structure as Structure
from pgso.graph.pattern import product as product
from pgso.graph.pattern import row_dots as row_dots
from pgso.graph.pattern import turn as turn
from pgso.graph.pattern import weighted_product as weighted_product
from pgso.graph.relations import Relations as Relations
