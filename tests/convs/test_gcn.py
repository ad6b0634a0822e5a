"""GCN-PGSO with its bias after γ, or inside the linear map."""

import pytest
import torch

from pgso import PGSO, GCNConv, RunSpec, dense_pgso, fit
from pgso.errors import InputError
from tests.convs.test_gin import EDGES, A, S, X


def test_a_bias_inside_is_propagated():
    layer = GCNConv(4, 6, PGSO(S), bias="inside")
    inside = torch.nn.functional.linear(X, layer.lin.weight, layer.lin.bias)
    torch.testing.assert_close(layer(X, EDGES), dense_pgso(A, S) @ inside)


def test_from_zeros_S_learns_with_a_bias_inside_alone():
    zeros = RunSpec(dataset="karate", preset="zeros", epochs=3)
    after, inside = fit(zeros), fit(zeros.but(bias="inside"))
    assert after.parameters == ((0.0,) * 7,)
    assert any(inside.parameters[0])
    assert zeros.key == zeros.but(bias="after").key != zeros.but(bias="inside").key


def test_other_convs_have_no_bias_inside():
    with pytest.raises(InputError, match="for the conv gcn, got sgc"):
        fit(RunSpec(dataset="karate", conv="sgc", bias="inside", epochs=1))
