"""An order of nodes in which products with a large graph are faster."""

from dataclasses import replace

import numpy as np
import torch
from scipy.sparse import csr_array
from scipy.sparse.csgraph import reverse_cuthill_mckee
from torch import Tensor

from pgso.data.inputs import as_scipy, as_tensor
from pgso.data.task import Task
from pgso.graph import Graph
from pgso.graph.pattern import inverse

LARGE = 50_000  # nodes from which on features do not stay in the cache, and the order matters
MOST_BYTES = 2**32  # of features that are copied for it; larger ones may be mapped from a file
BLOCK = 2048  # neighbouring nodes that stay together
PARTS = 4  # what blocks are dealt out to: so many threads get equal work


def fast_order(graph: Graph) -> Tensor:  # (n,)
    """The nodes in reverse Cuthill-McKee order, dealt out to equal parts block by block.

    Neighbours stand near each other, so that a product finds their rows in the cache. The order
    ends with nodes of many edges, while torch gives every thread as many rows: so each part gets
    every fourth block. On ogbn-arxiv's graph γx and 7 gradients were 1.4 times as fast on one
    thread, 1.1 to 1.3 on two; with eight parts one thread gains 1.2 only.
    """
    pattern, n = graph.pattern, graph.num_nodes
    assert pattern.rowptr is not None
    rowptr, col = (part.numpy(force=True) for part in (pattern.rowptr, pattern.col))
    A = csr_array((np.ones(len(col), dtype=np.int8), col, rowptr), shape=(n, n))
    if not graph.is_undirected:
        A = csr_array(A + A.T)
    order = torch.from_numpy(reverse_cuthill_mckee(A, symmetric_mode=True).astype(np.int64))
    blocks = order.split(BLOCK)
    return torch.cat([block for first in range(PARTS) for block in blocks[first::PARTS]])


def in_fast_order(task: Task) -> Task:
    """The same node task with its nodes, and their ids, in another order.

    Links, graph tasks, relations, features of over 4 GiB and small graphs stay as they are: there
    an order would cost more than it saves.
    """
    is_sparse = task.x.layout == torch.sparse_csr
    size = task.x.values().nbytes if is_sparse else task.x.nbytes
    is_plain = task.kind == "node" and task.relations is None
    if not is_plain or task.num_nodes < LARGE or size > MOST_BYTES:
        return task
    order, graph = fast_order(task.graph), task.graph
    position = inverse(order)
    return replace(
        task,
        graph=Graph.from_edge_index(position[graph.edge_index], graph.edge_weight, task.num_nodes),
        x=as_tensor(as_scipy(task.x)[order.numpy()]) if is_sparse else task.x[order],
        y=task.y[order],
        train=position[task.train],
        val=position[task.val],
        test=position[task.test],
        ids=None if task.ids is None else tuple(task.ids[k] for k in order.tolist()),
    )
