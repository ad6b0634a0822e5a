"""Sampled edges a second on one core: 1M nodes, 10M edges, batches of 1024 with 15 and 10."""

import time

import numpy as np
import torch

from benchmarks.graphs import power_law_edges
from benchmarks.measure import Row
from pgso.graph import Graph
from pgso.scale import NeighborSampler

N, EDGES, BATCHES = 1_000_000, 10_000_000, 60


def run() -> Row:
    """Per CPU second, since others may use the machine, and per second on the clock."""
    torch.manual_seed(0)
    sampler = NeighborSampler(Graph.from_edge_index(power_law_edges(N, EDGES), num_nodes=N))
    rng, seeds = np.random.default_rng(0), torch.randperm(N).split(1024)
    sampler.sample(seeds[-2], [15, 10], rng)
    cpu, clock = time.process_time(), time.perf_counter()
    edges = sum(sampler.sample(batch, [15, 10], rng).num_edges for batch in seeds[:BATCHES])
    cpu, clock = time.process_time() - cpu, time.perf_counter() - clock
    return {"edges_per_cpu_second": edges / cpu, "edges_per_second": edges / clock}
