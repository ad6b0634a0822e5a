"""The seven derivatives written out in numpy, against autograd through the formula."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pgso.gso.formula import NodeVectors, array_factors, factors
from tests.strategies import parameters

NAMES = ("alpha", "m2", "left", "right", "a", "own", "outer")
DEGREES = st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0, 7.0]), min_size=1, max_size=6)


@pytest.mark.parametrize("both", [False, True], ids=["row", "both"])
@given(S=parameters(), degrees=DEGREES, data=st.data())
def test_vectors_and_their_seven_derivatives_are_those_of_the_formula(both, S, degrees, data):
    S = torch.tensor([*S], dtype=torch.float64, requires_grad=True)
    rows = torch.tensor(degrees, dtype=torch.float64)
    columns = rows.flip(0) if both else None
    kind = torch.tensor(data.draw(st.lists(st.integers(0, len(degrees) - 1), min_size=1)))
    index = None if both else kind
    arrays = array_factors(S.detach(), rows, columns)
    actual = NodeVectors.apply(S, arrays, NAMES, (rows, columns), index, torch.float64)
    truth = factors(S.unbind(), rows, columns)
    wanted = [getattr(truth, name) for name in NAMES]
    wanted = [part[index] if part.dim() and index is not None else part for part in wanted]
    torch.testing.assert_close(list(actual), wanted)
    g = [torch.linspace(-1, 2, part.numel(), dtype=torch.float64).view_as(part) for part in wanted]
    (slopes,) = torch.autograd.grad(actual, S, g, retain_graph=True)
    torch.testing.assert_close(slopes, torch.autograd.grad(wanted, S, g)[0])
    (again,) = torch.autograd.grad(actual, S, g, create_graph=True)
    torch.testing.assert_close(again, slopes)


def test_a_vector_that_nobody_used_has_no_part_in_the_gradient():
    S = torch.tensor([0.3, 1.2, -0.4, 0.2, -0.6, -0.3, 0.7], dtype=torch.float64).requires_grad_()
    rows = torch.tensor([1.0, 3.0], dtype=torch.float64)
    arrays = array_factors(S.detach(), rows)
    right, own = NodeVectors.apply(S, arrays, ("right", "own"), (rows, None), None, torch.float32)
    assert right.dtype == own.dtype == torch.float32
    (slopes,) = torch.autograd.grad(right.sum(), S)
    assert slopes[:5].tolist() == [0.0] * 5
    assert slopes[5] != 0
    assert slopes[6] != 0
