import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pgso.errors import InputError
from pgso.objectives.values import Scale


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_encoding_standardises_and_decoding_undoes_it(seed, log):
    y = torch.randn(30, 2, generator=torch.Generator().manual_seed(seed)).double().exp() * 100
    y[3, 1] = torch.nan
    scale = Scale.of(y, log)
    encoded = scale.encode(y)
    assert encoded.nanmean(0).abs().max() < 1e-9
    assert (encoded.square().nanmean(0) - 1).abs().max() < 1e-9
    torch.testing.assert_close(scale.decode(encoded), y, equal_nan=True)


def test_a_constant_target_is_shifted_only():
    for value in (7.0, 0.1):  # in 64 bits 0.1 is not the mean of three of it
        y = torch.full((3, 1), value, dtype=torch.float64)
        assert Scale.of(y).encode(y).abs().max() < 1e-12


def test_logarithms_need_positive_targets():
    with pytest.raises(InputError, match="log_targets needs targets above 0, got -2"):
        Scale.of(torch.tensor([[1.0], [-2.0]]), log=True)


def test_it_survives_plain_data():
    scale = Scale((1.0,), (2.0,), True)
    assert Scale(**vars(scale)) == scale


def test_what_is_far_from_0_is_decoded_in_64_bits():
    y = 1.7e9 + torch.arange(5.0, dtype=torch.float64).unsqueeze(1)
    scale = Scale.of(y)
    torch.testing.assert_close(scale.decode(scale.encode(y).float()), y, atol=1e-5, rtol=0)
    assert Scale.of(y - 1.7e9).decode(torch.zeros(1, 1)).dtype == torch.float32
