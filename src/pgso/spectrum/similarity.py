"""Theorem 1: γ(A, S) is similar to a symmetric matrix, so its spectrum is real."""

from collections.abc import Sequence

import torch
from torch import Tensor

from pgso.graph import Graph
from pgso.gso.dense import positive_power
from pgso.gso.message_passing import pgso_entries
from pgso.gso.parameters import PGSOParameters, Scalar
from pgso.gso.presets import resolve
from pgso.spectrum.undirected import undirected


def symmetrised(
    graph: Graph | Tensor,
    S: str | Sequence[Scalar] | Tensor,
) -> Tensor:  # (n, n), torch.sparse COO
    r"""The symmetric matrix with γ's eigenvalues, Theorem 1 (Appendix A.1).

    .. math::
        T^{-1} \gamma(A, \mathcal{S})\, T
        = m_1 D_a^{e_1} + m_2 D_a^{(e_2 + e_3)/2} A_a D_a^{(e_2 + e_3)/2} + m_3 I_n,
        \qquad T = D_a^{(e_2 - e_3)/2}

    If w is an eigenvector of it, T w (see :func:`symmetriser`) is one of γ.

    Args:
        graph: Undirected; a directed one is refused with an offending edge.
        S: Seven floats or 0-d tensors, a tensor of shape (7,), or the name of a preset.

    Example:
        >>> path = Graph.from_edge_index(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        >>> symmetrised(path, "random_walk_laplacian").to_dense()
        tensor([[ 1.0000, -0.7071,  0.0000],
                [-0.7071,  1.0000, -0.7071],
                [ 0.0000, -0.7071,  1.0000]])
    """
    graph = undirected(graph)
    symmetric = torch.stack(
        [
            torch.as_tensor(value, dtype=graph.dtype, device=graph.device)
            for value in symmetrised_parameters(resolve(S))
        ]
    )
    index = torch.stack([graph.pattern.row, graph.pattern.col]).long()
    entries = pgso_entries(graph, symmetric)
    size = (graph.num_nodes, graph.num_nodes)
    return torch.sparse_coo_tensor(index, entries, size, is_coalesced=True)


def symmetrised_parameters(S: PGSOParameters) -> PGSOParameters:
    """The S of the symmetric matrix: it is a PGSO too, with both exponents (e2 + e3) / 2."""
    half = (S.e2 + S.e3) / 2
    return S._replace(e2=half, e3=half)


def symmetriser(
    graph: Graph | Tensor,
    S: str | Sequence[Scalar] | Tensor,
) -> Tensor:  # (n,)
    """The diagonal of T in :func:`symmetrised`; 1 where d_i + a ≤ 0, so that T has an inverse."""
    graph = undirected(graph)
    params = resolve(S)
    d_a = graph.degree + params.a
    T = positive_power(d_a, (params.e2 - params.e3) / 2)
    return torch.where(d_a > 0, T, torch.ones_like(T))
