"""How an epoch goes through the data: the whole graph, batches of graphs, links, samples, rows."""

from pgso.training.loops.dispatch import loop_of
from pgso.training.loops.loop import Loop

__all__ = ["Loop", "loop_of"]
