r"""Ridge regression with its exact leave-one-out predictions, for many penalties at once.

With centred features F (l labelled rows), targets Y and K = F Fᵀ = U Λ Uᵀ, the fitted values are

.. math::
    \hat Y = H Y, \qquad
    H = \tfrac{1}{l} \mathbf{1}\mathbf{1}^\top + U \, \tfrac{\Lambda}{\Lambda + \lambda} \, U^\top

(the intercept is not penalised), and what a fit without row i predicts for row i is, exactly,

.. math::
    \hat y_i^{(-i)} = (\hat y_i - H_{ii} y_i) / (1 - H_{ii}).

One decomposition serves all penalties. With few rows K is decomposed (the dual), with few columns
Fᵀ F (the primal); both give the same U and Λ.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import torch
from scipy.linalg import get_blas_funcs
from torch import Tensor

PENALTIES = tuple(10 ** (k / 3) for k in range(-12, 19))  # relative to K's mean eigenvalue: 1
COARSE = PENALTIES[3::3]
ROWS = 8192  # that choose the penalty: their leave-one-out errors are exact, the fit sees all rows
SMALL = 512  # rows up to which kernels are decomposed in 64 bits
SAFE = 100  # times the rounding of a kernel: a larger penalty has leave-one-out errors to a percent
DUAL_ROWS = 384  # up to which the kernel of all labelled rows is decomposed to choose scales
COLUMNS = 256  # of all blocks together that choose scales otherwise: their leading directions
FOLDS = 5
FACTORS = (0.0, 1 / 16, 1 / 4, 4.0, 16.0)


@dataclass(frozen=True, eq=False)
class Block:
    """The features of labelled rows that share one scale, centred and of unit size.

    Rows have mean square norm 1, so that one grid of penalties and of scales suits every block.
    """

    features: Tensor  # (l, p) centred, divided by ``size``
    mean: Tensor  # (p,) what was subtracted, in original units
    size: float

    @classmethod
    def of(cls, features: Tensor) -> "Block":
        """Centre and scale."""
        mean = features.mean(dim=0)
        centred = features - mean
        size = float(centred.double().square().sum().div(max(len(features), 1)).sqrt())
        tiny = 1e-6 * float(features.abs().max()) if features.numel() else 0.0
        if not size > tiny:  # constant features say nothing, and rounding errors are no features
            return cls(torch.zeros_like(features), mean, 1.0)
        return cls(centred / size, mean, size)

    @cached_property
    def leading(self) -> Tensor:  # (l, COLUMNS // 2)
        """The features in their leading directions, by a randomised decomposition."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            U, S, _ = torch.svd_lowrank(self.features, q=min(COLUMNS // 2, *self.features.shape))
        return U * S

    @cached_property
    def kernel(self) -> Tensor:  # (l, l)
        """F Fᵀ. BLAS computes one half, and the other is its mirror image: half the time."""
        columns = self.features.numpy().T  # as BLAS stores them
        (multiply,) = get_blas_funcs(["syrk"], [columns])
        half = torch.from_numpy(multiply(1.0, columns, trans=1, lower=1))
        return half.tril() + half.tril(-1).t()


@dataclass(frozen=True, eq=False)
class Spectrum:
    """U and Λ of a centred kernel."""

    U: Tensor  # (l, k) orthonormal, orthogonal to 1
    values: Tensor  # (k,)

    @classmethod
    def of(cls, gram: Tensor, features: Tensor | None = None) -> "Spectrum":
        """The dual: from K = F Fᵀ, (l, l). The primal: from Fᵀ F, (p, p), and F, with p below l."""
        values, V = torch.linalg.eigh(gram)
        # Eigenvalues below this share of the largest are rounding errors.
        keep = values > 4 * torch.finfo(gram.dtype).eps * values[-1].clamp(min=1e-30)
        values, V = values[keep], V[:, keep]
        return cls(V if features is None else features @ (V / values.sqrt()), values)

    def leave_one_out(self, Y: Tensor, penalty: float) -> Tensor:  # (l, C) -> (l, C)
        """What fits without each row predict for it."""
        mean = Y.mean(dim=0)
        shrink = self.values / (self.values + penalty)
        fitted = mean + self.U @ (shrink.unsqueeze(1) * (self.U.t() @ (Y - mean)))
        leverage = (1 / len(Y) + self.U.square() @ shrink).clamp(max=1 - 1e-12).unsqueeze(1)
        return (fitted - leverage * Y) / (1 - leverage)

    def losses(self, Y: Tensor, penalties: Sequence[float]) -> Tensor:  # (number of penalties,)
        """The mean squared leave-one-out error of each penalty, over ``ROWS`` rows at most."""
        centred = Y - Y.mean(dim=0)
        coordinates, rows = self.U.t() @ centred, sample(len(Y), ROWS)
        U, centred = self.U[rows], centred[rows]
        shrink = self.values.unsqueeze(1) / (self.values.unsqueeze(1) + Y.new_tensor(penalties))
        leverage = (1 / len(Y) + U.square() @ shrink).clamp(max=1 - 1e-12)  # (rows, penalties)
        # All penalties in one product: U is read once.
        shrunk = shrink.unsqueeze(2) * coordinates.unsqueeze(1)  # (k, penalties, C)
        fitted = (U @ shrunk.flatten(1)).unflatten(1, shrunk.shape[1:])  # (rows, penalties, C)
        squares = (centred.unsqueeze(1) - fitted).square_().sum(dim=2)
        losses: Tensor = (squares / (1 - leverage).square_()).mean(dim=0)
        return losses


@dataclass(frozen=True, eq=False)
class Fit:
    """A ridge regression on blocks: its leave-one-out predictions and its weights."""

    loo: Tensor  # (l, C) what fits without each row predict for it
    loss: float  # the mean squared error of ``loo``, summed over columns
    penalty: float  # relative to the kernel's mean eigenvalue
    scales: tuple[float, ...]  # of each block's kernel; they sum to 1
    weights: tuple[Tensor, ...]  # (p_b, C) of each block's features as they came
    intercept: Tensor  # (C,)


def fit(blocks: Sequence[Block], Y: Tensor, scales: Sequence[float] | None = None) -> Fit:
    """The ridge regression of Y, in 64 bits, on blocks of rows; without scales they count alike."""
    shares = shares_of(scales or [1.0] * len(blocks))
    spectrum, penalty = decomposed(blocks, shares, Y)
    loo = spectrum.leave_one_out(Y, penalty)
    mean = Y.mean(dim=0)
    # The dual coefficients α = (K + λ)⁻¹ (Y - mean), of which only U's part meets the features.
    alpha = spectrum.U @ ((spectrum.U.t() @ (Y - mean)) / (spectrum.values + penalty).unsqueeze(1))
    weights, intercept = [], mean
    for block, share in zip(blocks, shares, strict=True):
        exact = block.features.double().t() @ alpha * (share / block.size)
        weights.append(exact.to(block.features.dtype))  # as predictions multiply them
        intercept = intercept - block.mean.double() @ weights[-1].double()
    loss = float((loo - Y).square().sum(dim=1).mean())
    return Fit(loo, loss, penalty, shares, tuple(weights), intercept)


def decomposed(
    blocks: Sequence[Block], shares: Sequence[float], Y: Tensor
) -> tuple[Spectrum, float]:
    """U and Λ of the scaled blocks, and the best penalty.

    A kernel of 32-bit features has errors of about the last place of its largest eigenvalue. Only a
    penalty that is near them is decided by a kernel of 64 bits, which takes twice the time.
    """
    if len(Y) > sum(block.features.size(1) for block in blocks):
        scaled = [b.features * s**0.5 for b, s in zip(blocks, shares, strict=True)]
        features = torch.cat(scaled, dim=1).double()
        spectrum = Spectrum.of(features.t() @ features, features)
        return spectrum, choose_penalty(spectrum, Y)

    def kernel(blocks: Sequence[Block], dtype: torch.dtype) -> Tensor:
        total = torch.zeros(len(Y), len(Y), dtype=dtype)
        for block, share in zip(blocks, shares, strict=True):
            total.add_(block.kernel, alpha=share)
        return total

    short = blocks[0].features.dtype
    found = Spectrum.of(kernel(blocks, torch.float64 if len(Y) <= SMALL else short))
    spectrum = Spectrum(found.U.to(Y.dtype), found.values.to(Y.dtype))
    penalty = choose_penalty(spectrum, Y)
    largest = float(spectrum.values.amax()) if len(spectrum.values) else 0.0
    if penalty >= SAFE * torch.finfo(short).eps * largest:
        return spectrum, penalty
    long = [Block(block.features.double(), block.mean, block.size) for block in blocks]
    spectrum = Spectrum.of(kernel(long, torch.float64))
    return spectrum, choose_penalty(spectrum, Y)


def choose_penalty(spectrum: Spectrum, Y: Tensor) -> float:
    """The penalty with the smallest leave-one-out error; of equal ones the largest.

    Every third one is tried first, then those around the best of them.
    """
    tried, losses, best = [*range(0, len(PENALTIES), 3)], dict[int, float](), 0
    for _ in range(2):
        made = spectrum.losses(Y, [PENALTIES[k] for k in tried]).tolist()
        losses |= dict(zip(tried, made, strict=True))
        least = min(losses.values()) * (1 + 1e-9)
        best = max(k for k, loss in losses.items() if loss <= least)
        near = range(max(best - 2, 0), min(best + 3, len(PENALTIES)))
        tried = [k for k in near if k not in losses]
    return PENALTIES[best]


def choose_scales(blocks: Sequence[Block], Y: Tensor, sweeps: int = 2) -> tuple[float, ...]:
    """The relative scales of blocks with the smallest error on labels that were left out.

    Coordinate descent from equal scales, by :data:`FACTORS`, with a new penalty each time. All
    labels choose: one by one is left out where they are few, a fifth otherwise. Of wide blocks the
    leading directions stand for the others, and then no scale becomes 0.
    """
    if len(blocks) == 1:
        return (1.0,)
    factors: tuple[float, ...] = FACTORS
    if len(Y) <= DUAL_ROWS:
        kernels = torch.stack([block.kernel for block in blocks]).float()
        y = Y.float()  # half the time, and digits enough to compare scales

        def leaving_one_out(scales: Sequence[float]) -> float:
            kernel = torch.einsum("b,bij->ij", y.new_tensor(shares_of(scales)), kernels)
            return float(Spectrum.of(kernel).losses(y, COARSE).min())

        loss_at: Callable[[Sequence[float]], float] = leaving_one_out
    else:
        most = max(COLUMNS // len(blocks), 8)
        is_wide = [block.features.size(1) > most for block in blocks]
        factors = FACTORS[1:] if any(is_wide) else FACTORS
        pairs = zip(blocks, is_wide, strict=True)
        parts = [b.leading[:, :most] if wide else b.features for b, wide in pairs]
        loss_at = _loss_of_folds(parts, Y)

    scales = [1.0] * len(blocks)
    best = loss_at(scales)
    for _ in range(sweeps):
        before = best
        for b, factor in product(range(len(blocks)), factors):
            trial = [*scales[:b], scales[b] * factor, *scales[b + 1 :]]
            if trial == scales or not any(trial):  # a block that is left out stays out
                continue
            loss = loss_at(trial)
            if loss < best * (1 - 1e-4):
                best, scales = loss, trial
        if best > before * (1 - 1e-3):
            break
    return shares_of(scales)


def sample(n: int, size: int) -> Tensor | slice:
    """Some of n rows, the same ones each time; all of them if all may be used."""
    if n <= size:
        return slice(None)
    return torch.randperm(n, generator=torch.Generator().manual_seed(0))[:size]


def _loss_of_folds(parts: Sequence[Tensor], Y: Tensor) -> Callable[[Sequence[float]], float]:
    """The error of five folds by the scales of blocks, from Gram matrices of all labels.

    With G_f = F_fᵀ F_f and C_f = F_fᵀ Y_f of fold f and W from the other folds, the squared error
    of the fold is ‖Y_f‖² - 2 tr(Wᵀ C_f) + tr(Wᵀ G_f W): rows are read once, not for every scale.
    """
    F, Y = torch.cat(list(parts), dim=1).double(), Y - Y.mean(dim=0)
    F = F - F.mean(dim=0)
    fold = torch.randperm(len(Y), generator=torch.Generator().manual_seed(0)) % FOLDS
    G = torch.stack([F[fold == f].t() @ F[fold == f] for f in range(FOLDS)])
    C = torch.stack([F[fold == f].t() @ Y[fold == f] for f in range(FOLDS)])
    rest_G, rest_C = G.sum(dim=0) - G, C.sum(dim=0) - C
    squares = float(Y.square().sum())
    widths = torch.tensor([part.size(1) for part in parts])
    near = [*COARSE]  # the penalties around the best one so far

    def loss_at(scales: Sequence[float]) -> float:
        root = torch.repeat_interleave(F.new_tensor(shares_of(scales)).sqrt(), widths)
        scaled = root.unsqueeze(1) * rest_G * root  # (folds, p, p)
        right = root.unsqueeze(1) * rest_C
        errors = {}
        for penalty in near:
            lower = torch.linalg.cholesky(scaled + (1 - 1 / FOLDS) * penalty * torch.eye(len(root)))
            W = root.unsqueeze(1) * torch.cholesky_solve(right, lower)
            errors[penalty] = float(squares - 2 * (W * C).sum() + (W * (G @ W)).sum())
        best = COARSE.index(min(errors, key=lambda penalty: errors[penalty]))
        near[:] = COARSE[max(best - 1, 0) : best + 2]
        return min(errors.values()) / len(Y)

    return loss_at


def shares_of(scales: Sequence[float]) -> tuple[float, ...]:
    """Scales that sum to 1."""
    total = sum(scales)
    return tuple(scale / total for scale in scales)
