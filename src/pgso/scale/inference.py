"""Outputs of every node with all its neighbours, layer by layer and batch by batch."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pgso.convs.sparse_features import as_features
from pgso.errors import InputError
from pgso.graph import Graph
from pgso.models.gnn import GNN
from pgso.scale.loader import rows_of
from pgso.scale.place import Place
from pgso.scale.sampler import ALL, NeighborSampler

Rows = Callable[[Tensor], Any]  # nodes (b,) -> their features (b, F)


def predict_by_layer(
    model: GNN,
    x: Tensor,  # (n, F)
    graph: Graph,
    batch_size: int = 16_384,
    place: Place | None = None,
) -> Tensor:  # (n, C)
    """Class scores of every node, equal to ``model(x, graph)`` in evaluation mode.

    A layer is finished for all nodes before the next one begins, so that a node's neighbours are
    looked up and never computed again: O(E F) time, and beside the outputs of layers one batch
    with its neighbours in memory.

    Args:
        model: A node model; it is left in evaluation mode.
        x: Features, in memory or in a mapped file.
        graph: The whole graph.
        batch_size: Nodes at a time.
        place: Where the model is; by default on the CPU, alone. If the place is one of several
            processes, all of them call this, and each computes a share of the nodes.
    """
    if model.task != "node":
        raise InputError("a graph task has batches of its own: predict graph by graph instead")
    model.eval()
    walk = _Walk(graph, batch_size, place or Place())
    features, encoder, head, jump = rows_of(x), model.encoder, model.head, model.jump

    def first(nodes: Tensor) -> Any:
        given = features(nodes).to(walk.device)
        return given if encoder is None else encoder(given)

    with torch.no_grad():
        every: list[Rows] = [first]
        for layer in model.layers:
            every.append(walk.kept(_layer_outputs(layer, every[-1], walk)))
        rows = every[-1]
        if jump is not None:
            rows = walk.kept(walk.nodes(lambda nodes: jump([out(nodes) for out in every[1:]])))
        return walk.joined(walk.nodes(rows if head is None else lambda nodes: head(rows(nodes))))


class _Walk:
    """The nodes of a graph, a batch at a time. Each process takes a contiguous part of them."""

    def __init__(self, graph: Graph, batch_size: int, place: Place) -> None:
        self.sampler = NeighborSampler(graph)
        self.place, self.device = place, place.device
        runs = torch.arange(graph.num_nodes).tensor_split(place.num_ranks)
        self.sizes = [run.numel() for run in runs]
        self.batches = runs[place.rank].split(batch_size)

    def nodes(self, step: Rows) -> Iterator[Tensor]:
        """The outputs of a step that needs no neighbours, batch by batch."""
        return (step(batch).cpu() for batch in self.batches)

    def hop(self, step: Callable[[Any, Graph], Tensor], rows: Rows) -> Iterator[Tensor]:
        """The outputs of a step that needs all neighbours, batch by batch."""
        rng = np.random.default_rng(0)  # nothing is drawn
        for batch in self.batches:
            part = self.sampler.sample(batch, [ALL], rng)
            assert part.sample is not None
            out = step(rows(part.sample.nodes), part.to(self.device))
            yield out[: batch.numel()].cpu()

    def joined(self, batches: Iterator[Tensor]) -> Tensor:
        """The rows of all batches, of other processes too."""
        rows = torch.cat(list(batches))
        if len(self.sizes) == 1:  # they need not fit on the device
            return rows
        return self.place.gathered(rows.to(self.device), self.sizes).cpu()

    def kept(self, batches: Iterator[Tensor]) -> Rows:
        """A function that looks up the rows of these batches, and moves them to the device."""
        values = self.joined(batches)
        return lambda nodes: values[nodes].to(self.device)


def _layer_outputs(layer: Any, rows: Rows, walk: _Walk) -> Iterator[Tensor]:
    """A layer of one hop at once; several hops of one linear map one after the other.

    A filter's layer is computed for all nodes at once, in memory.
    """
    conv = layer.conv
    if conv.many_hops:  # all rows at once: a batch would need neighbours of many hops
        whole = walk.sampler.graph.to(walk.device)
        out = layer(as_features(rows(torch.arange(whole.num_nodes))), whole)
        return walk.nodes(lambda nodes: out[nodes.to(out.device)])
    if not conv.collapses:
        return walk.hop(lambda x, part: layer(as_features(x), part), rows)
    hidden: Rows = lambda nodes: conv.lin.times_weight(as_features(rows(nodes)))  # noqa: E731
    for gso in conv.operators:
        hidden = walk.kept(walk.hop(gso, hidden))
    bias = 0.0 if conv.lin.bias is None else conv.lin.bias
    return walk.nodes(lambda nodes: layer.after(hidden(nodes) + bias, as_features(rows(nodes))))
