"""Links to predict: some of a graph's are taken out of it, each beside pairs that are none."""

from dataclasses import replace

import numpy as np
import torch

from pgso.data.arrays import Array
from pgso.data.dataset import check_choice, options_of
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

    As PyG's ``RandomLinkSplit``: the graph that a network sees holds training links only, an
    undirected link is taken out in both directions, and no pair beside a held-out link is a link
    of the whole graph. Self-loops stay and are never asked for.

    Args:
        task: About nodes. Of what it says about them only the features are used.
        seed: Of which links are taken out, and of the pairs beside them.
        val: The share of links that validate.
        test: The share of links that test.
        negatives: ``"structured"``: the pairs beside a link (i, j) are (i, k), so that who has
            many links is no answer; ``"uniform"``: any pairs, as in the published GAE.
        candidates: How many pairs are beside each link; AUC and average precision take the first.
    """
    check_choice("negatives", negatives, ("structured", "uniform"))
    if task.kind == "graph":
        raise InputError(f"{task.name} holds many graphs; links are predicted within one")
    if not (val > 0 and test >= 0 and val + test < 1):
        raise InputError(
            f"val and test must be shares that leave links to train on, got {val} and {test}"
        )
    if isinstance(candidates, bool) or not isinstance(candidates, int) or candidates < 1:
        raise InputError(f"candidates must be a whole number from 1 on, got {candidates!r}")
    edges, n = task.graph.edge_index.numpy(), task.num_nodes
    rng = np.random.default_rng(seed)
    undirected = _is_symmetric(edges, n)
    is_link = edges[0] < edges[1] if undirected else edges[0] != edges[1]
    links = np.flatnonzero(is_link)[rng.permutation(np.count_nonzero(is_link))]
    num_val, num_test = int(val * len(links)), int(test * len(links))
    if min(num_val, num_test if test else 1, len(links) - num_val - num_test) < 1:
        raise InputError(
            f"{task.name} has {len(links)} links, too few to take {val:.0%} and {test:.0%} of them "
            "out; give more edges, or larger parts with --option val=0.2 --option test=0.2"
        )
    held_out = edges[:, links[: num_val + num_test]]
    if undirected:  # either end may be the one that is asked about
        turned = rng.random(held_out.shape[1]) < 0.5
        held_out = np.where(turned, held_out[::-1], held_out)

    whole = NonLinks(edges, n)
    none = (
        whole.structured(held_out, candidates, rng)
        if negatives == "structured"
        else whole.uniform(held_out.shape[1], candidates, rng)
    )
    gone = _keys(held_out, n)
    if undirected:
        gone = np.concatenate([gone, _keys(held_out[::-1], n)])

    def without(graph: Graph) -> Graph:
        stays = torch.from_numpy(~np.isin(_keys(graph.edge_index.numpy(), n), gone))
        weight = None if graph.edge_weight is None else graph.edge_weight[stays]
        return Graph.from_edge_index(graph.edge_index[:, stays], weight, n)

    graph, relations = without(task.graph), task.relations
    if relations is not None:  # a held-out link is in none of them
        parts = {kind: without(part) for kind, part in relations.graphs.items()}
        relations = Relations(parts, n)
    source, target = graph.edge_index
    train = source < target if undirected else source != target
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
    """Pairs of different nodes that are no links of a graph, drawn at random.

    Args:
        edges: (2, E) sources and targets; what is joined in either direction counts as joined.
        num_nodes: n.
    """

    def __init__(self, edges: Array, num_nodes: int) -> None:
        self.n = num_nodes
        both = np.concatenate([_keys(edges, num_nodes), _keys(edges[::-1], num_nodes)])
        self.keys = np.append(np.unique(both), num_nodes**2)  # which is no pair's, and the last

    def structured(
        self, links: Array, count: int, rng: np.random.Generator
    ) -> Array:  # (L, count, 2)
        """Beside every link (i, j) so many pairs (i, k), as PyG's structured negative sampling."""
        source = np.repeat(links[0], count)
        target = rng.integers(self.n, size=len(source))
        self._redraw(source, target, rng, both_ends=False)
        return np.stack([source, target], axis=1).reshape(-1, count, 2)

    def uniform(self, rows: int, count: int, rng: np.random.Generator) -> Array:
        """So many rows of pairs of any nodes, (rows, count, 2)."""
        source, target = rng.integers(self.n, size=(2, rows * count))
        self._redraw(source, target, rng, both_ends=True)
        return np.stack([source, target], axis=1).reshape(-1, count, 2)

    def are_links(self, pairs: Array) -> Array:  # (P, 2) -> (P,) of booleans
        """Which pairs are links, or loops."""
        return self._is_link(pairs[:, 0], pairs[:, 1])

    def _redraw(
        self, source: Array, target: Array, rng: np.random.Generator, both_ends: bool
    ) -> None:
        """Draw again what is a link or a loop; a node that is joined with all keeps what it has.

        What is still wrong after many rounds, as beside a hub, is drawn from the nodes that its
        source is not joined with.
        """
        wrong = np.arange(len(source))
        for _ in range(ROUNDS):
            wrong = wrong[self._is_link(source[wrong], target[wrong])]
            if not len(wrong):
                return
            target[wrong] = rng.integers(self.n, size=len(wrong))
            if both_ends:
                source[wrong] = rng.integers(self.n, size=len(wrong))
        wrong = wrong[self._is_link(source[wrong], target[wrong])]
        nodes = np.arange(self.n)
        for node in np.unique(source[wrong]):
            rows = wrong[source[wrong] == node]
            others = nodes[~self._is_link(np.full(self.n, node), nodes)]
            if len(others):
                target[rows] = rng.choice(others, size=len(rows))

    def _is_link(self, source: Array, target: Array) -> Array:
        key = target * self.n + source
        is_link: Array = (self.keys[np.searchsorted(self.keys, key)] == key) | (source == target)
        return is_link


def _keys(edges: Array, n: int) -> Array:
    keys: Array = edges[1] * n + edges[0]
    return keys


def _is_symmetric(edges: Array, n: int) -> bool:
    return bool(np.array_equal(np.unique(_keys(edges, n)), np.unique(_keys(edges[::-1], n))))
