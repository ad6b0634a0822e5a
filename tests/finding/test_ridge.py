"""Leave-one-out in closed form is leave-one-out by hand."""

import pytest
import torch

from pgso.finding.ridge import PENALTIES, SMALL, Block, Spectrum, choose_scales, fit, sample


def blocks_and_targets(rows, *widths, seed=0):
    generator = torch.Generator().manual_seed(seed)
    features = [torch.randn(rows, p, dtype=torch.float64, generator=generator) + 3 for p in widths]
    classes = torch.randint(3, (rows,), generator=generator)
    return features, torch.nn.functional.one_hot(classes, 3).double()


def ridge_by_hand(features, Y, penalty):
    """Weights and intercept of ridge regression, from its normal equations."""
    mean, centre = features.mean(dim=0), Y.mean(dim=0)
    F = features - mean
    identity = torch.eye(F.size(1), dtype=F.dtype)
    W = torch.linalg.solve(F.t() @ F + penalty * identity, F.t() @ (Y - centre))
    return W, centre - mean @ W


def leave_one_out_by_hand(features, Y, penalty):
    rows = []
    for i in range(len(Y)):
        keep = torch.arange(len(Y)) != i
        W, intercept = ridge_by_hand(features[keep], Y[keep], penalty)
        rows.append(features[i] @ W + intercept)
    return torch.stack(rows)


@pytest.mark.parametrize("widths", [(4,), (40,), (3, 5), (20, 30)], ids=str)
def test_each_row_is_predicted_by_a_fit_without_it(widths):
    features, Y = blocks_and_targets(25, *widths)
    blocks = [Block.of(part) for part in features]
    scales = [1.0, 3.0][: len(widths)]
    found = fit(blocks, Y, scales)
    shares = [scale / sum(scales) for scale in scales]
    # Scales and sizes are held fixed while a row is left out.
    together = torch.cat(
        [b.features * share**0.5 for b, share in zip(blocks, shares, strict=True)], dim=1
    )
    torch.testing.assert_close(found.loo, leave_one_out_by_hand(together, Y, found.penalty))


@pytest.mark.parametrize("width", [5, 60])
def test_the_dual_and_the_primal_agree(width):
    (features,), Y = blocks_and_targets(30, width)
    block = Block.of(features)
    F = block.features
    dual, primal = Spectrum.of(F @ F.t()), Spectrum.of(F.t() @ F, F)
    for penalty in (0.01, 1.0, 100.0):
        torch.testing.assert_close(
            dual.leave_one_out(Y, penalty), primal.leave_one_out(Y, penalty), atol=1e-6, rtol=1e-6
        )


def test_one_decomposition_gives_the_error_of_every_penalty():
    (features,), Y = blocks_and_targets(30, 6)
    F = Block.of(features).features
    spectrum = Spectrum.of(F.t() @ F, F)
    for penalty, loss in zip(PENALTIES, spectrum.losses(Y, PENALTIES).tolist(), strict=True):
        errors = spectrum.leave_one_out(Y, penalty) - Y
        assert loss == pytest.approx(float(errors.square().sum(dim=1).mean()))


def test_the_penalty_has_the_smallest_error():
    (features,), Y = blocks_and_targets(30, 6)
    found = fit([Block.of(features)], Y)
    F = Block.of(features).features
    spectrum = Spectrum.of(F.t() @ F, F)
    assert found.loss == pytest.approx(float(spectrum.losses(Y, PENALTIES).min()))


@pytest.mark.parametrize("widths", [(4,), (40,), (20, 30)], ids=str)
def test_the_weights_act_on_features_as_they_came(widths):
    features, Y = blocks_and_targets(25, *widths)
    blocks = [Block.of(part) for part in features]
    found = fit(blocks, Y)
    values = found.intercept + sum(F @ W for F, W in zip(features, found.weights, strict=True))
    together = torch.cat([b.features / len(blocks) ** 0.5 for b in blocks], dim=1)
    W, intercept = ridge_by_hand(together, Y, found.penalty)
    torch.testing.assert_close(values, together @ W + intercept)


def test_scales_prefer_the_block_that_knows():
    generator = torch.Generator().manual_seed(1)
    signal, noise = (torch.randn(60, 30, generator=generator) for _ in range(2))
    Y = signal[:, :2].double()
    scales = choose_scales([Block.of(noise), Block.of(signal)], Y)
    assert sum(scales) == pytest.approx(1)
    assert scales[1] > 0.9


def test_features_that_say_nothing_predict_the_mean():
    Y = torch.eye(4, dtype=torch.float64)[:, :2]
    found = fit([Block.of(torch.full((4, 3), 7.0))], Y)
    assert all(weights.abs().max() == 0 for weights in found.weights)
    torch.testing.assert_close(found.intercept, Y.mean(dim=0))
    torch.testing.assert_close(found.loo, (Y.sum(dim=0) - Y) / 3)


def test_a_sample_is_always_the_same():
    assert sample(5, 5) == slice(None)
    assert torch.equal(sample(100, 7), sample(100, 7))
    assert len(sample(100, 7).unique()) == 7


def test_large_kernels_in_32_bits_are_as_good():
    features, Y = blocks_and_targets(SMALL + 20, 700)
    found, wanted = fit([Block.of(features[0].float())], Y), fit([Block.of(features[0])], Y)
    assert found.penalty == wanted.penalty
    torch.testing.assert_close(found.loo, wanted.loo, atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_kernel_is_the_product_of_the_features_with_themselves(dtype):
    block = Block.of(torch.randn(7, 20, generator=torch.Generator().manual_seed(0)).to(dtype))
    torch.testing.assert_close(block.kernel, block.features @ block.features.t())


@pytest.mark.parametrize("shape", [(180, 200), (180, 10), (SMALL + 40, 700), (SMALL + 40, 10)])
def test_correlated_features_in_32_bits_keep_their_digits(shape):
    generator = torch.Generator().manual_seed(0)
    rows, columns = shape
    shared, apart = (torch.randn(rows, k, generator=generator) for k in (1, 20))
    mixed = apart @ torch.randn(20, columns, generator=generator)
    features = shared + 1e-3 * mixed  # columns that are nearly the same
    Y = (apart[:, :1] + 0.1 * torch.randn(rows, 1, generator=generator)).double()
    short, long = (fit([Block.of(part)], Y) for part in (features, features.double()))
    assert short.loss == pytest.approx(long.loss, rel=1e-4)
    x, weights = features.double(), short.weights[0].double()
    expected = x @ long.weights[0] + long.intercept
    torch.testing.assert_close(x @ weights + short.intercept, expected, atol=1e-3, rtol=0)
