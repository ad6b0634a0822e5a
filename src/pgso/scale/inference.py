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

from pgso.convs.features import as_features
from pgso.errors import InputError
from pgso.graph import Graph
from pgso.models.gnn import GNN
from pgso.scale.features import FeatureRows
from pgso.scale.sampler import ALL, NeighborSampler

Rows = Callable[[Tensor], Any]  # nodes (b,) -> their features (b, F)
Shelf = Callable[[Iterator[Tensor]], Tensor]  # batches of rows -> all rows, kept somewhere


def predict_by_layer(
    model: GNN,
    x: Tensor,  # (n, F)
    graph: Graph,
    batch_size: int = 16_384,
    folder: str | Path | None = None,
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
    """
    if model.task != "node":
        raise InputError("a graph task has batches of its own: predict graph by graph instead")
    model.eval()
    walk = _Walk(graph, batch_size)
    with torch.no_grad(), _shelf(folder, graph.num_nodes) as keep:
        rows: Rows = _encoded(model, FeatureRows(x))
        outputs: list[Tensor] = []
        for layer in model.layers:
            outputs.append(keep(_layer_outputs(layer, rows, walk, keep)))
            rows = outputs[-1].__getitem__
        if model.jump is not None:
            jump = model.jump
            rows = keep(walk.nodes(lambda nodes: jump([out[nodes] for out in outputs]))).__getitem__
        return torch.cat(list(walk.nodes(lambda nodes: _read_out(model, rows(nodes)))))


class _Walk:
    """All nodes of a graph, a batch at a time."""

    def __init__(self, graph: Graph, batch_size: int) -> None:
        self.sampler = NeighborSampler(graph)
        self.batches = torch.arange(graph.num_nodes).split(batch_size)

    def nodes(self, step: Rows) -> Iterator[Tensor]:
        """What a step that needs no neighbours gives for each batch."""
        for batch in self.batches:
            yield step(batch)

    def hop(self, step: Callable[[Any, Graph], Tensor], rows: Rows) -> Iterator[Tensor]:
        """What a step that needs all neighbours gives for each batch."""
        rng = np.random.default_rng(0)  # nothing is drawn
        for batch in self.batches:
            part = self.sampler.sample(batch, [ALL], rng)
            assert part.sample is not None
            yield step(rows(part.sample.nodes), part)[: batch.numel()]


def _layer_outputs(layer: Any, rows: Rows, walk: _Walk, keep: Shelf) -> Iterator[Tensor]:
    """A layer of one hop at once; several hops of one linear map one after the other."""
    conv = layer.conv
    if not conv.collapses:
        return walk.hop(lambda x, part: layer(as_features(x), part, None), rows)
    hidden: Rows = lambda nodes: conv.lin.times_weight(as_features(rows(nodes)))  # noqa: E731
    for gso in conv.operators:
        hidden = keep(walk.hop(gso, hidden)).__getitem__
    bias = 0.0 if conv.lin.bias is None else conv.lin.bias
    return walk.nodes(lambda nodes: layer.after(hidden(nodes) + bias, as_features(rows(nodes))))


def _encoded(model: GNN, rows: FeatureRows) -> Rows:
    encoder = model.encoder
    return rows if encoder is None else lambda nodes: encoder(rows(nodes))


def _read_out(model: GNN, rows: Tensor) -> Tensor:
    if model.head is None:
        return rows
    out: Tensor = model.head(rows)
    return out


@contextmanager
def _shelf(folder: str | Path | None, num_nodes: int) -> Iterator[Shelf]:
    """A function that keeps batches of rows as one tensor, in memory or in files of a folder."""
    if folder is None:
        yield lambda batches: torch.cat(list(batches))
        return
    with tempfile.TemporaryDirectory(dir=folder) as place:
        number = count()

        def keep(batches: Iterator[Tensor]) -> Tensor:
            out, start = None, 0
            for batch in batches:
                if out is None:
                    name = Path(place) / f"{next(number)}.npy"
                    shape = (num_nodes, batch.size(1))
                    kind = batch.numpy().dtype
                    out = np.lib.format.open_memmap(name, "w+", kind, shape)
                out[start : start + len(batch)] = batch.numpy()
                start += len(batch)
            return torch.empty(0) if out is None else torch.from_numpy(out)

        yield keep
