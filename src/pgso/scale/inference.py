"""Outputs of every node with all its neighbours, layer by layer and batch by batch."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pgso.convs.sparse_features import as_features
from pgso.errors import InputError
from pgso.graph import Graph
from pgso.models.gnn import GNN
from pgso.scale.loader import FeatureRows
from pgso.scale.place import Place
from pgso.scale.sampler import ALL, NeighborSampler

Rows = Callable[[Tensor], Any]  # nodes (b,) -> their features (b, F)
Shelf = Callable[[Iterator[Tensor]], Tensor]  # batches of rows -> all rows, in memory or in a file


def predict_by_layer(
    model: GNN,
    x: Tensor,  # (n, F)
    graph: Graph,
    batch_size: int = 16_384,
    folder: str | Path | None = None,
    place: Place | None = None,
) -> Tensor:  # (n, C)
    """Class scores of every node, equal to ``model(x, graph)`` in evaluation mode.

    A layer is finished for all nodes before the next one begins, so that a node's neighbours are
    looked up and never computed again: O(E F) time, and one batch with its neighbours in memory.

    Args:
        model: A node model; it is left in evaluation mode.
        x: Features, in memory or in a mapped file.
        graph: The whole graph.
        batch_size: Nodes at a time.
        folder: Where outputs of layers go, as files that are removed at the end; by default they
            stay in memory.
        place: Where the model is; by default on the CPU, alone. If the place is one of several
            processes, all of them call this, each computes a share of the nodes, and layers'
            outputs stay in memory.
    """
    if model.task != "node":
        raise InputError("a graph task has batches of its own: predict graph by graph instead")
    model.eval()
    walk = _Walk(graph, batch_size, place or Place())
    with torch.no_grad(), _shelf(None if walk.place.num_ranks > 1 else folder, walk) as keep:
        rows = _encoded(model, FeatureRows(x), walk.device)
        outputs: list[Tensor] = []
        for layer in model.layers:
            outputs.append(keep(_layer_outputs(layer, rows, walk, keep)))
            rows = _looked_up(outputs[-1], walk.device)
        if model.jump is not None:
            jump = model.jump
            every = [_looked_up(out, walk.device) for out in outputs]
            made = keep(walk.nodes(lambda nodes: jump([out(nodes) for out in every])))
            rows = _looked_up(made, walk.device)
        return walk.joined(walk.nodes(lambda nodes: _read_out(model, rows(nodes))))


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
        for batch in self.batches:
            yield step(batch).cpu()

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
        if len(self.sizes) == 1:
            return rows
        return self.place.gathered(rows.to(self.device), self.sizes).cpu()


def _layer_outputs(layer: Any, rows: Rows, walk: _Walk, keep: Shelf) -> Iterator[Tensor]:
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
        hidden = _looked_up(keep(walk.hop(gso, hidden)), walk.device)
    bias = 0.0 if conv.lin.bias is None else conv.lin.bias
    return walk.nodes(lambda nodes: layer.after(hidden(nodes) + bias, as_features(rows(nodes))))


def _looked_up(values: Tensor, device: torch.device) -> Rows:
    """A function that looks up computed rows, and moves them to the device."""
    return lambda nodes: values[nodes].to(device)


def _encoded(model: GNN, rows: FeatureRows, device: torch.device) -> Rows:
    encoder = model.encoder
    if encoder is None:
        return lambda nodes: rows(nodes).to(device)
    return lambda nodes: encoder(rows(nodes).to(device))


def _read_out(model: GNN, rows: Tensor) -> Tensor:
    if model.head is None:
        return rows
    out: Tensor = model.head(rows)
    return out


@contextmanager
def _shelf(folder: str | Path | None, walk: _Walk) -> Iterator[Shelf]:
    """A function that keeps batches of rows as one tensor, in memory or in files of a folder."""
    if folder is None:
        yield walk.joined
        return
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        number = count()

        def keep(batches: Iterator[Tensor]) -> Tensor:
            out, start = None, 0
            for batch in batches:
                if out is None:
                    name = Path(scratch) / f"{next(number)}.npy"
                    shape = (sum(walk.sizes), batch.size(1))
                    kind = batch.numpy().dtype
                    out = np.lib.format.open_memmap(name, "w+", kind, shape)
                out[start : start + len(batch)] = batch.numpy()
                start += len(batch)
            return torch.empty(0) if out is None else torch.from_numpy(out)

        yield keep
