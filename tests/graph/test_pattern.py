"""The sparsity pattern of A + I."""

import torch
from hypothesis import given

from pgso.graph import Structure
from tests.strategies import edge_lists


@given(edges=edge_lists())
def test_the_pattern_is_that_of_A_plus_I(edges):
    n, (source, target) = edges.num_nodes, edges.edge_index
    structure = Structure.of(edges.edge_index, n)
    pattern = structure.pattern
    entries = list(zip(pattern.row.tolist(), pattern.col.tolist(), strict=True))
    edge_set = set(zip(target.tolist(), source.tolist(), strict=True))
    assert entries == sorted(edge_set | {(i, i) for i in range(n)})
    assert [entries[place] for place in pattern.diagonal] == [(i, i) for i in range(n)]
    assert [entries[place] for place in structure.position] == list(
        zip(target.tolist(), source.tolist(), strict=True)
    )
    counts = torch.bincount(pattern.row, minlength=n).cumsum(0).tolist()
    assert pattern.rowptr.tolist() == [0, *counts]


@given(edges=edge_lists())
def test_the_transpose_holds_the_same_entries_turned_round(edges):
    structure = Structure.of(edges.edge_index, edges.num_nodes)
    pattern, transposed = structure.pattern, structure.transposed
    order = structure.transposition
    assert torch.equal(pattern.col[order], transposed.row)
    assert torch.equal(pattern.row[order], transposed.col)
    assert torch.equal(transposed.row[transposed.diagonal], transposed.col[transposed.diagonal])
    pairs = list(zip(transposed.row.tolist(), transposed.col.tolist(), strict=True))
    assert pairs == sorted(pairs)


@given(edges=edge_lists())
def test_the_transpose_is_shared_where_every_edge_has_its_reverse(edges):
    structure = Structure.of(edges.edge_index, edges.num_nodes)
    forward = set(zip(*edges.edge_index.tolist(), strict=True))
    assert (structure.transposed is structure.pattern) == (forward == {(v, u) for u, v in forward})


def test_indices_are_stored_in_32_bits_where_they_fit():
    structure = Structure.of(torch.tensor([[0], [1]]), 2)
    assert structure.pattern.col.dtype == structure.transposed.row.dtype == torch.int32
