"""Outputs of every node with all its neighbours, layer by layer and batch by batch."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pgso.convs.sparse_features import as_features
from pgso.errors import InputError
from pgso.graph import Graph
from pgso.models.gnn import GNN
from pgso.scale.loader import ALL, NeighborSampler, rows_of
from pgso.scale.place import Place

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
    with its neighbours in memory. x is in memory or in a mapped file. The model, of a node task, is
    left in evaluation mode; ``place`` says where it is, by default on the CPU, alone. In several
    processes all of them call this, and each computes a share of the nodes.
    """
    if model.task != "node":
        raise InputError("a graph task has batches of its own: predict graph by graph instead")
    model.eval()
    place = place or Place()
    device, sampler, nothing_drawn = place.device, NeighborSampler(graph), np.random.default_rng(0)
    runs = torch.arange(graph.num_nodes).tensor_split(place.num_ranks)
    features, encoder, head, jump = rows_of(x), model.encoder, model.head, model.jump

    def joined(step: Rows) -> Tensor:
        """What a step says of every node: batch by batch, a run of the nodes in each process."""
        own = torch.cat([step(batch).cpu() for batch in runs[place.rank].split(batch_size)])
        return place.gathered(own, [run.numel() for run in runs])

    def kept(step: Rows) -> Rows:
        """A function that looks up what a step said, and moves it to the device."""
        values = joined(step)
        return lambda nodes: values[nodes].to(device)

    def hop(step: Callable[[Any, Graph], Tensor], rows: Rows) -> Rows:
        """A step that needs all neighbours of its nodes."""

        def of(nodes: Tensor) -> Tensor:
            part = sampler.sample(nodes, [ALL], nothing_drawn)
            assert part.sample is not None
            return step(rows(part.sample.nodes), part.to(device))[: nodes.numel()]

        return of

    def first(nodes: Tensor) -> Any:
        given = features(nodes).to(device)
        return given if encoder is None else encoder(given)

    def through(layer: Any, rows: Rows) -> Rows:
        """A layer of one hop at once; several hops of one linear map one after the other."""
        conv = layer.conv
        if conv.many_hops:  # all rows at once: a batch would need neighbours of many hops
            out = layer(as_features(rows(torch.arange(graph.num_nodes))), graph.to(device))
            return lambda nodes: out[nodes.to(out.device)]
        if not conv.collapses:
            return hop(lambda x, part: layer(as_features(x), part), rows)
        hidden: Rows = lambda nodes: conv.lin.times_weight(as_features(rows(nodes)))  # noqa: E731
        for gso in conv.operators:
            hidden = kept(hop(gso, hidden))
        bias = 0.0 if conv.lin.bias is None else conv.lin.bias
        return lambda nodes: layer.after(hidden(nodes) + bias, as_features(rows(nodes)))

    with torch.no_grad():
        every: list[Rows] = [first]
        for layer in model.layers:
            every.append(kept(through(layer, every[-1])))
        rows = every[-1]
        if jump is not None:
            rows = kept(lambda nodes: jump([out(nodes) for out in every[1:]]))
        return joined(rows if head is None else lambda nodes: head(rows(nodes)))
