"""Which tasks replicas can share."""

from pgso.data import Task
from pgso.graph.product import DOTS_IN_CACHE
from pgso.records import RunSpec
from pgso.training.prediction import EVALUATED_AT_ONCE
from pgso.training.scoring import Scoring
from pgso.training.threads import wants_threads

GRAPH_CONVS = ("gcn", "sgc", "gin")


def can_share(spec: RunSpec, task: Task) -> bool:
    """Whether runs of this spec may be trained together on this data."""
    if task.relations is not None or task.categories is not None:
        return False
    if task.kind == "graph":
        return _can_share_graphs(spec, task)
    return task.kind == "node" and not wants_threads(task)  # its steps would be long enough


def _can_share_graphs(spec: RunSpec, task: Task) -> bool:
    """Whether all batches are alike: none is skipped, none is large, and A is plain."""
    sizes, graph = task.nodes_per_graph, task.graph
    if spec.conv not in GRAPH_CONVS or spec.s_loss != "train":
        return False
    if not graph.is_undirected or graph.weight is not None or not sizes.numel():
        return False
    last = task.train.numel() % spec.batch_size or spec.batch_size
    if int(sizes.min()) * min(last, task.train.numel()) < 2:  # batch norm needs two nodes
        return False
    width = max(spec.hidden_channels, task.num_features)
    return most_nodes(spec, task) * width <= DOTS_IN_CACHE  # gradients of S are added one way


def most_nodes(spec: RunSpec, task: Task) -> int:
    """How many nodes a training batch may have."""
    largest = task.nodes_per_graph.sort(descending=True).values
    return int(largest[: spec.batch_size].sum())


def steps_of(spec: RunSpec, task: Task) -> tuple[int, ...]:
    """How many batches an epoch trains on, and how many it scores; replicas must agree."""
    if task.kind != "graph":
        return ()
    scored = Scoring(task).scored.numel()
    return -(-task.train.numel() // spec.batch_size), -(-scored // EVALUATED_AT_ONCE)
