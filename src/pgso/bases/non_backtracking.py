"""Walks that do not turn back: Hashimoto's operator on directed edges, and its Ihara–Bass form."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from pgso.errors import InputError
from pgso.graph import Graph


@dataclass(frozen=True, eq=False)
class NonBacktracking:
    r"""The directed edges of a graph as nodes of another.

    .. math::
        B_{(i \to j), (k \to l)} = [\,l = i\,]\,[\,k \ne j\,]

    ``graph`` has an edge from (k → i) to (i → j) unless j = k; edge signals are features of its
    nodes, which ``lift`` and ``readout`` take from and back to the nodes of the original graph.
    """

    graph: Graph  # 2m nodes
    source: Tensor  # (2m,) i of each edge i → j
    target: Tensor  # (2m,) j
    num_nodes: int  # n

    def lift(self, x: Tensor) -> Tensor:  # (n, F) -> (2m, F)
        """The signal of each edge: the signal of the node it comes from."""
        return x.index_select(0, self.source)

    def readout(self, signal: Tensor) -> Tensor:  # (2m, F) -> (n, F)
        """The signal of each node: the sum over the edges that arrive."""
        zeros = signal.new_zeros(self.num_nodes, *signal.shape[1:])
        return zeros.index_add(0, self.target, signal)


def non_backtracking(graph: Graph) -> NonBacktracking:
    """The operator on the 2m directed edges of an undirected, unweighted graph.

    It has Σ d (d - 1) entries. Adjacency spectra of sparse graphs are ruled by hubs; this one is
    not (Krzakala et al., 2013), since a walk cannot go back and forth between a hub and a leaf.

    Example:
        >>> path = Graph.from_edge_index(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        >>> walks = non_backtracking(path)
        >>> walks.graph  # 0 → 1 goes on to 1 → 2, and 2 → 1 to 1 → 0
        Graph(num_nodes=4, num_edges=2, directed, unweighted)
        >>> walks.readout(walks.lift(torch.tensor([[1.], [2.], [4.]]))).flatten()  # A x
        tensor([2., 5., 2.])
    """
    source, target = _simple(graph).edge_index
    i, j = (part.numpy(force=True) for part in (source, target))
    m, n = i.size, graph.num_nodes
    starts_at, ends_at = (
        sp.csr_array((np.ones(m), (np.arange(m), part)), shape=(m, n)) for part in (i, j)
    )
    follows = (starts_at @ ends_at.T).tocoo()
    turns = j[follows.row] == i[follows.col]
    pairs = np.stack([follows.col, follows.row])[:, ~turns].astype(np.int64)
    over = Graph.from_edge_index(torch.from_numpy(pairs).to(graph.device), num_nodes=m)
    return NonBacktracking(over, source, target, n)


def two_steps(graph: Graph | Tensor) -> Graph:
    r"""Walks of two steps that do not turn back, from node to node: :math:`A^2 - D`.

    It is what ``lift``, one product with B and ``readout`` do together, on the n nodes themselves:
    the base to train on. Its entries count the common neighbours of two nodes, O(Σ d²) of them, and
    its diagonal is empty. Self-loops of the graph are left out.

    Example:
        >>> path = Graph.from_edge_index(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        >>> two_steps(path).to_torch_sparse().to_dense()
        tensor([[0., 0., 1.],
                [0., 0., 0.],
                [1., 0., 0.]])
    """
    graph = Graph.of(graph)
    edges, weight = graph.edge_index, graph.edge_weight
    apart = edges[0] != edges[1]
    weight = None if weight is None else weight[apart]
    A = _adjacency(_simple(Graph.from_edge_index(edges[:, apart], weight, graph.num_nodes)))
    walks = sp.csr_array(A @ A - sp.diags_array(A.sum(axis=1)))
    walks.eliminate_zeros()
    return Graph.from_scipy(walks.astype(np.float32)).to(graph.device)


def ihara_bass(graph: Graph) -> sp.csr_array:  # (2n, 2n)
    r"""A matrix of size 2n with the eigenvalues of the operator on edges, except for ±1.

    .. math::
        \begin{pmatrix} A & I - D \\ I & 0 \end{pmatrix}

    If (x, y) is an eigenvector of it, x is the read-out of one of B with the same eigenvalue:
    cheap to hand to ``scipy.sparse.linalg.eigs``, which finds communities of sparse graphs.

    Example:
        >>> triangle = Graph.from_edge_index(torch.tensor([[0, 1, 2, 1, 2, 0], [1, 2, 0, 0, 1, 2]]))
        >>> np.abs(np.linalg.eigvals(ihara_bass(triangle).toarray())).round(4)
        array([1., 1., 1., 1., 1., 1.])
    """
    A, identity = _adjacency(_simple(graph)), sp.eye_array(graph.num_nodes)
    D = sp.diags_array(A.sum(axis=1))
    return sp.csr_array(sp.block_array([[A, identity - D], [identity, None]]))


def _adjacency(graph: Graph) -> sp.csr_array:
    source, target = graph.edge_index.numpy(force=True)
    return sp.csr_array((np.ones(source.size), (target, source)), shape=(graph.num_nodes,) * 2)


def _simple(graph: Graph) -> Graph:
    if not graph.is_undirected or graph.weight is not None or graph.loops is not None:
        raise InputError(
            "walks that do not turn back need an undirected graph without weights and self-loops, "
            f"got {graph}"
        )
    return graph
