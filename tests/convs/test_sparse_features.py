"""Node features with few non-zeros: the same numbers as dense ones, zeros stay zeros."""

import pytest
import torch

from pgso.convs.sparse_features import Linear, SparseFeatures, as_features, dropout
from pgso.errors import InputError

DENSE = torch.randn(40, 30, generator=torch.Generator().manual_seed(0)).relu()


@pytest.mark.parametrize("layout", ["to_sparse_csr", "to_sparse_csc", "to_sparse_coo"])
def test_every_layout_is_read(layout):
    features = as_features(getattr(DENSE, layout)())
    assert isinstance(features, SparseFeatures)
    assert (features.size(0), features.size(-1)) == (40, 30)
    assert torch.equal(features.to_dense(), DENSE)


def test_the_same_tensor_is_prepared_once():
    x = DENSE.to_sparse_csr()
    assert SparseFeatures.of(x) is SparseFeatures.of(x)


def test_a_linear_map_of_sparse_features_is_that_of_dense_ones():
    linear = Linear(30, 5)
    answers = []
    for x in (DENSE, as_features(DENSE.to_sparse_csr())):
        out = linear(x)
        gradients = torch.autograd.grad(out.square().sum(), list(linear.parameters()))
        answers.append((out, *gradients))
    for one, other in zip(*answers, strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gradients_of_gradients_are_those_of_dense_features(dtype):
    linear, dense, answers = Linear(30, 5).to(dtype), DENSE.to(dtype), []
    for x in (dense, as_features(dense.to_sparse_csr())):
        loss = linear(x).pow(3).mean()
        (slope,) = torch.autograd.grad(loss, linear.weight, create_graph=True)
        answers.append(torch.autograd.grad(slope.square().sum(), linear.weight)[0])
    torch.testing.assert_close(*answers, atol=1e-5, rtol=1e-4)
    assert torch.equal(as_features(DENSE.to_sparse_csr()).T.T.to_dense(), DENSE)


def test_dropout_of_almost_everything_is_finite():
    assert dropout(DENSE, 1 - 1e-6, training=True).isfinite().all()


@pytest.mark.parametrize("p", [0.4, 0.5])
def test_dropout_keeps_zeros_and_the_expectation(p):
    features = as_features(DENSE.to_sparse_csr())
    draws = torch.stack([dropout(features, p, training=True).to_dense() for _ in range(400)])
    assert (draws[:, DENSE == 0] == 0).all()
    torch.testing.assert_close(draws.mean(), DENSE.mean(), atol=0.01, rtol=0)
    stored = DENSE != 0
    assert abs((draws[:, stored] == 0).float().mean() - p) < 0.01


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_dropout_of_a_half_is_a_fair_coin_for_every_place_and_its_neighbour(dtype):
    x = torch.ones(4000, 13, dtype=dtype)  # 13: rows start at every bit of a random byte
    out = dropout(x, 0.5, training=True)
    assert out.dtype == dtype
    assert set(out.unique().tolist()) == {0.0, 2.0}
    kept = (out > 0).double()
    assert (kept.mean(0) - 0.5).abs().max() < 0.05
    assert ((kept[:, 1:] * kept[:, :-1]).mean(0) - 0.25).abs().max() < 0.05


def test_without_training_or_with_p_0_nothing_is_dropped():
    features = as_features(DENSE.to_sparse_csr())
    assert dropout(features, 0.4, training=False) is features
    assert dropout(features, 0.0, training=True) is features


def test_dense_features_are_left_as_they_are():
    assert as_features(DENSE) is DENSE


def test_features_of_another_width_or_shape_are_refused_in_words():
    with pytest.raises(InputError, match="takes 30 features per node, got 7"):
        Linear(30, 5)(DENSE[:, :7])
    with pytest.raises(InputError, match="must have shape"):
        as_features(torch.ones(2, 2, 2).to_sparse_coo())
    with pytest.raises(InputError, match=r"floating-point numbers, got torch\.int64"):
        Linear(3, 2)(torch.ones(4, 3, dtype=torch.int64))
    with pytest.raises(InputError, match=r"dense or torch\.sparse, got ndarray"):
        as_features(DENSE.numpy())


def test_sparse_features_that_changed_are_prepared_anew():
    x = torch.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse()
    before = SparseFeatures.of(x)
    assert SparseFeatures.of(x) is before
    x.mul_(10)
    assert SparseFeatures.of(x).to_dense().tolist() == [[0, 20], [30, 0]]


def test_sparse_features_that_want_a_gradient_are_refused():
    x = torch.eye(2).to_sparse_csr().requires_grad_()
    with pytest.raises(InputError, match="sparse features are constants"):
        SparseFeatures.of(x)
