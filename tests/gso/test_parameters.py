"""Definition 2: seven named scalars."""

import numpy as np
import pytest
import torch

from pgso import PGSOParameters
from pgso.gso.parameters import NAMES, as_float

VALUES = (0.5, 1.0, 2.0, -1.0, -0.5, -0.25, 3.0)


def test_the_order_is_that_of_the_paper():
    assert PGSOParameters._fields == NAMES == ("m1", "m2", "m3", "e1", "e2", "e3", "a")
    assert tuple(PGSOParameters(*VALUES)) == VALUES


@pytest.mark.parametrize("form", [tuple, list, np.array, torch.tensor, iter])
def test_seven_numbers_of_any_kind_are_taken(form):
    assert PGSOParameters.of(form(VALUES)).as_floats() == VALUES


def test_tensors_keep_their_gradient():
    vector = torch.tensor(VALUES, requires_grad=True)
    params = PGSOParameters.of(vector)
    (3 * params.a).backward()
    assert vector.grad.tolist() == [0, 0, 0, 0, 0, 0, 3]


def test_as_floats_cuts_the_gradient_off():
    params = PGSOParameters.of(torch.tensor(VALUES, requires_grad=True)).as_floats()
    assert all(isinstance(value, float) for value in params)


def test_a_scalar_is_a_number_or_a_tensor_without_dimensions():
    assert as_float(2) == as_float(torch.tensor(2.0, requires_grad=True)) == 2.0
    with pytest.raises(TypeError):
        as_float(torch.tensor([2.0]))
