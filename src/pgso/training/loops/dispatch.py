"""Which loop a run takes."""

from pgso.errors import InputError
from pgso.training.loops.graphs import Graphs
from pgso.training.loops.links import Links
from pgso.training.loops.loop import Loop, Run
from pgso.training.loops.sampled import Sampled
from pgso.training.loops.whole_graph import WholeGraph


def loop_of(run: Run) -> Loop:
    """What the spec, the kind of the task and the number of processes ask for."""
    if run.task.kind == "link":
        if run.spec.sample or run.place.num_ranks > 1:
            raise InputError(
                "links are learned on the whole graph in one process: leave out sample and torchrun"
            )
        return Links(run)
    if run.spec.sample:
        return Sampled(run)
    if run.task.kind == "graph":
        return Graphs(run)
    if run.place.num_ranks > 1:
        raise InputError(
            f"{run.place.num_ranks} processes share sampled batches, not one whole graph: add "
            "--sample 15,10 (in Python sample=(15, 10)), or start one process without torchrun"
        )
    return WholeGraph(run)
