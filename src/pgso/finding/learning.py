"""S learned by the exact gradient of the leave-one-out loss.

The ridge weights are eliminated in closed form (variable projection), so that the loss is a
function of S and the scales of the blocks alone. With K the centred kernel, λ = 1 and
M = (K + I)⁻¹, the leave-one-out residuals are M (Y - mean) / (diag(M) - 1/l).
"""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from pgso.finding.blocks import Letter, Propagation, Word
from pgso.finding.columns import Preparation
from pgso.finding.problem import Problem
from pgso.finding.ridge import Fit
from pgso.records.spec import SevenNumbers

ROWS = 384  # labels that S is learned on, at most: a step costs rows³
FEWEST = 200  # labels below which S is not learned: it fits their noise
RATE, STEPS = 0.03, 25
STEPS_PER_HOP = 10  # from an S that is learned already
LARGE, COMPONENTS = 10_000, 32  # nodes from which on this many columns of x learn S


def learn(
    problem: Problem, words: Sequence[Word], fit: Fit, rows: Tensor, per_hop: bool = False
) -> tuple[SevenNumbers, ...]:
    """Learn S of a rung's operators from their present S: one S for all, or one for every hop.

    Scales and penalty start from the rung's fit. ``rows`` are the training labels to learn on.
    """
    letter = next(word.letters[0] for word in words if word.letters)
    propagation = Propagation(problem.graph, problem.relations)
    hops = max(len(word.letters) for word in words) if per_hop else 1
    S = torch.tensor([letter.S] * hops, requires_grad=True)
    start = torch.tensor([max(share, 1e-4) / fit.penalty for share in fit.scales])
    log_scales = start.log().clone().requires_grad_()
    Y = problem.Y[rows].float()
    Y = Y - Y.mean(dim=0)
    optimiser = torch.optim.Adam([S, log_scales], lr=RATE)
    best, best_S = torch.inf, (letter.S,) * hops
    features = features_to_propagate(problem, rows)
    for _ in range(STEPS_PER_HOP if per_hop else STEPS):
        kernels = kernels_of(problem, propagation, words, S, rows, features)
        K = torch.einsum("b,bij->ij", log_scales.exp(), kernels)
        M = torch.linalg.inv(K + torch.eye(len(rows)))
        residual = (M @ Y) / (M.diagonal() - 1 / len(rows)).clamp(min=1e-6).unsqueeze(1)
        loss = residual.square().sum(dim=1).mean()
        if not bool(loss.isfinite()):
            break
        if float(loss.detach()) < best:
            best, best_S = float(loss.detach()), tuple(map(tuple, S.tolist()))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return best_S


def with_S(words: Sequence[Word], S: Sequence[SevenNumbers]) -> tuple[Word, ...]:
    """The same words with a learned S, or with one for every hop."""
    made = []
    for word in words:
        pairs = zip(word.letters, hops_of(word, len(S)), strict=True)
        letters = tuple(replace(letter, name="learned", S=S[hop]) for letter, hop in pairs)
        made.append(replace(word, letters=letters))
    return tuple(made)


def hops_of(word: Word, count: int) -> list[int]:
    """Which of so many S each letter has: the last letter meets x first, and is hop 0."""
    return [min(hop, count - 1) for hop in reversed(range(len(word.letters)))]


def features_to_propagate(problem: Problem, rows: Tensor) -> Tensor:  # (n, p)
    """What the operators are applied to: x or, with fewer labels than columns, columns of I.

    γᵀ turns a column into the label's row of γ. On a large graph the leading principal components
    of x are enough, since S has only seven numbers.
    """
    nodes = problem.train[rows]
    if len(nodes) < problem.x.size(1):
        columns = torch.zeros(problem.x.size(0), len(nodes))
        columns[nodes, torch.arange(len(nodes))] = 1.0
        return columns
    x = problem.x.to_dense()
    return x if len(x) <= LARGE else Preparation.of(x, COMPONENTS)(x)[:, :-1]  # without ones


def kernels_of(
    problem: Problem,
    propagation: Propagation,
    words: Sequence[Word],
    S: Tensor,  # (1 or hops, 7)
    rows: Tensor,
    start: Tensor,
) -> Tensor:  # (blocks, l, l), each centred and of trace l
    """The kernel F Fᵀ of every word's features on the labelled rows; differentiable in S."""
    by_rows = len(rows) < problem.x.size(1)
    products: dict[tuple[tuple[Letter, int], ...], Tensor] = {(): start}

    def product(letters: tuple[tuple[Letter, int], ...]) -> Tensor:
        """The product of letters, each with the number of its S; of γᵀ if rows are propagated."""
        if letters not in products:
            (letter, hop), rest = (
                (letters[-1], letters[:-1]) if by_rows else (letters[0], letters[1:])
            )
            gamma = propagation.operator(letter, S[hop])
            products[letters] = (gamma.T if by_rows else gamma).times(product(rest))
        return products[letters]

    kernels = []
    for word in words:
        values = product(tuple(zip(word.letters, hops_of(word, len(S)), strict=True)))
        features = (problem.x.t() @ values).t() if by_rows else values[problem.train[rows]]
        features = features - features.mean(dim=0)
        kernel = features @ features.t()
        kernels.append(kernel * (len(rows) / kernel.diagonal().sum().clamp(min=1e-30)))
    return torch.stack(kernels)
