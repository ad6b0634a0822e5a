"""Link prediction: some links are taken out of a graph, each next to pairs that are not linked."""

from dataclasses import replace

import numpy as np
import torch

from pgso.data.arrays import Array
from pgso.data.dataset import check_choice, check_whole, options_of
from pgso.data.task import Task
from pgso.errors import InputError
from pgso.graph import Graph, Relations

ROUNDS = 50  # of drawing again what turned out to be a link


def link_task(
    task: Task,
    seed: int,
    *,
    val: float = 0.05,
    test: float = 0.1,
    negatives: str = "structured",
    candidates: int = 20,
) -> Task:
    """A node task's graph with some links taken out, to be found again.

    As PyG's ``RandomLinkSplit``: the graph that a network sees holds training links only, and no
    pair beside a held-out link is a link of the whole graph. Self-loops stay.

    ``val`` and ``test`` are the shares of links that are held out, by the seed. Beside each of them
    stand so many ``candidates``, of which AUC and average precision take the first. With
    ``negatives="structured"`` the pairs beside a link (i, j) are (i, k), so that who has many links
    is no answer; with "uniform" they are any pairs, as in the published GAE.
    """
    check_choice("negatives", negatives, ("structured", "uniform"))
    if task.kind == "graph":
        raise InputError(f"{task.name} holds many graphs; links are predicted within one")
    if not (val > 0 and test >= 0 and val + test < 1):
        wanted = "shares that leave links to train on"
        raise InputError(f"val and test must be {wanted}, got {val} and {test}")
    check_whole("candidates", candidates, 1)
    edges, n = task.graph.edge_index.numpy(), task.num_nodes
    rng = np.random.default_rng(seed)
    undirected = np.array_equal(np.sort(_keys(edges, n)), np.sort(_keys(edges[::-1], n)))
    is_link = edges[0] < edges[1] if undirected else edges[0] != edges[1]
    links = np.flatnonzero(is_link)[rng.permutation(np.count_nonzero(is_link))]
    num_val, num_test = int(val * len(links)), int(test * len(links))
    if min(num_val, num_test if test else 1, len(links) - num_val - num_test) < 1:
        problem = f"{len(links)} links, too few to take {val:.0%} and {test:.0%} of them out"
        advice = "give more edges, or larger parts with --option val=0.2 --option test=0.2"
        raise InputError(f"{task.name} has {problem}; {advice}")
    held_out = edges[:, links[: num_val + num_test]]
    gone = _keys(held_out, n)
    if undirected:  # either end may be the one that is asked about
        gone = np.concatenate([gone, _keys(held_out[::-1], n)])
        turned = rng.random(held_out.shape[1]) < 0.5
        held_out = np.where(turned, held_out[::-1], held_out)
    source = held_out[0] if negatives == "structured" else None
    none = NonLinks(edges, n).draw(held_out.shape[1], candidates, rng, source)

    def without(graph: Graph) -> Graph:
        stays = torch.from_numpy(~np.isin(_keys(graph.edge_index.numpy(), n), gone))
        weight = None if graph.edge_weight is None else graph.edge_weight[stays]
        return Graph.from_edge_index(graph.edge_index[:, stays], weight, n)

    graph, relations = without(task.graph), task.relations
    if relations is not None:  # a held-out link is in none of them
        relations = Relations({kind: without(part) for kind, part in relations.graphs.items()}, n)
    first, second = graph.edge_index
    train = first < second if undirected else first != second
    rows = torch.arange(num_val + num_test)
    return replace(
        task,
        kind="link",
        metric="link_auc",
        graph=graph,
        relations=relations,
        y=torch.zeros(len(rows), dtype=torch.long),
        train=train.nonzero().flatten(),
        val=rows[:num_val],
        test=rows[num_val:],
        pairs=torch.from_numpy(np.concatenate([held_out.T[:, None], none], axis=1)),
        classes=(),
        targets=(),
        positive=None,
    )


LINK_OPTIONS = options_of(link_task)


class NonLinks:
    """Pairs of different nodes that no edge (2, E) joins in either direction, drawn at random."""

    def __init__(self, edges: Array, num_nodes: int) -> None:
        self.n = num_nodes
        both = np.concatenate([_keys(edges, num_nodes), _keys(edges[::-1], num_nodes)])
        self.keys = np.append(np.unique(both), num_nodes**2)  # which is no pair's, and the last

    def draw(
        self, rows: int, count: int, rng: np.random.Generator, sources: Array | None = None
    ) -> Array:  # (rows, count, 2)
        """Pairs of any nodes, or of each row's source; who is linked to all keeps the last draw."""
        if sources is None:
            source, target = rng.integers(self.n, size=(2, rows * count))
        else:
            source, target = np.repeat(sources, count), rng.integers(self.n, size=rows * count)
        wrong = np.flatnonzero(self.are_links(source, target))
        for _ in range(ROUNDS):
            if not len(wrong):
                break
            target[wrong] = rng.integers(self.n, size=len(wrong))
            if sources is None:
                source[wrong] = rng.integers(self.n, size=len(wrong))
            wrong = wrong[self.are_links(source[wrong], target[wrong])]
        nodes = np.arange(self.n)
        for node in np.unique(source[wrong]):
            places = wrong[source[wrong] == node]
            others = nodes[~self.are_links(np.full(self.n, node), nodes)]
            if len(others):
                target[places] = rng.choice(others, size=len(places))
        return np.stack([source, target], axis=1).reshape(-1, count, 2)

    def are_links(self, source: Array, target: Array) -> Array:
        """Which pairs are links, or loops."""
        key = target * self.n + source
        is_link: Array = (self.keys[np.searchsorted(self.keys, key)] == key) | (source == target)
        return is_link


def _keys(edges: Array, n: int) -> Array:
    return np.asarray(edges[1] * n + edges[0])
