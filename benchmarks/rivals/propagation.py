"""Rivals that spread labels or solve least squares: PyG's two, and GraphAny's five heads."""

import numpy as np
import torch
from torch import Tensor
from torch_geometric.nn import CorrectAndSmooth, LabelPropagation

from benchmarks.rivals.problem import Answer, Array, Problem
from benchmarks.rivals.tabular import linear

RATES = (0.5, 0.8, 0.9, 0.99)
STEPS = 50
RANK = 1e-6  # singular values below this share of the largest count as 0


def label_propagation(problem: Problem) -> Answer:
    """PyG's label propagation of the training labels; of numbers, their distance to the mean."""
    mask = torch.zeros(len(problem.y), dtype=torch.bool)
    mask[problem.train] = True
    middle = 0.0
    if problem.is_class:
        y = torch.nn.functional.one_hot(
            torch.from_numpy(problem.y.clip(min=0)), problem.num_classes
        ).float()
    else:
        middle = float(problem.y[problem.train].mean())
        y = torch.from_numpy(np.nan_to_num(problem.y - middle)).float()[:, None]

    def fit(rate: float) -> Array:
        model = LabelPropagation(STEPS, rate)
        values: Array = model(y, problem.edges, mask, post_step=lambda out: out).numpy()
        return values + middle

    return problem.best(RATES, fit)


def correct_and_smooth(problem: Problem) -> Answer:
    """PyG's Correct & Smooth (Huang et al. 2021) on the logistic regression of this race."""
    base = torch.from_numpy(linear(problem).out).float()
    train = torch.from_numpy(problem.train)
    y = torch.from_numpy(problem.y[problem.train])

    def fit(rate: float) -> Array:
        model = CorrectAndSmooth(STEPS, rate, STEPS, rate)
        known = torch.nn.functional.one_hot(y, problem.num_classes).float()
        corrected = model.correct(base, known, train, problem.edges)
        values: Array = model.smooth(corrected, known, train, problem.edges).numpy()
        return values

    return problem.best(RATES, fit)


def graphany(problem: Problem) -> Answer:
    r"""GraphAny's five linear heads (Zhao et al. 2024) with equal weights: no training at all.

    Least squares of the labels on :math:`X, PX, P^2X, (I-P)X, (I-P)^2X` with
    :math:`P = D^{-1}A`; the mean of the five predictions.
    """
    source, target = problem.edges
    n = len(problem.x)
    degree = torch.bincount(target, minlength=n).clamp(min=1).double()
    weights = 1 / degree[target]
    P = torch.sparse_coo_tensor(torch.stack([target, source]), weights, (n, n)).to_sparse_csr()
    X = problem.scaled.double()  # nodes with the same neighbours: rounding must stay below RANK
    PX = P @ X
    train = torch.from_numpy(problem.train)
    middle = 0.0
    if problem.is_class:
        y = torch.nn.functional.one_hot(
            torch.from_numpy(problem.y[problem.train]), problem.num_classes
        ).double()
    else:
        middle = float(problem.y[problem.train].mean())
        y = torch.from_numpy(problem.y[problem.train] - middle)[:, None]
    heads = (X, PX, P @ PX, X - PX, X - PX - P @ (X - PX))
    out = torch.stack([_least_squares(head, train, y) for head in heads]).mean(dim=0)
    return Answer(out.numpy() + middle, "–")


def _least_squares(block: Tensor, train: Tensor, y: Tensor) -> Tensor:
    return block @ (torch.linalg.pinv(block[train], rtol=RANK) @ y)
