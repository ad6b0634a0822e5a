"""Which of four cases is it: features, graph, both or neither?"""

import numpy as np
import pytest
import torch

import pgso
from pgso.finding import find
from pgso.finding.problem import Problem
from pgso.finding.verdict import guess_of


@pytest.mark.parametrize("signal", ["features", "graph", "both", "neither"])
@pytest.mark.parametrize(  # seeds on which less shrinkage once looked like a signal
    ("seed", "head"),
    [(4, "auto"), (11, "ridge")],  # the ladder names the case: trees are grown for one seed
)
def test_the_case_that_was_generated_is_named(signal, seed, head):
    finding = pgso.find("customers", seed=seed, signal=signal, head=head)
    assert finding.record.signal == signal
    words = {
        "features": "we cannot show that the graph adds anything",
        "graph": "the signal is in the graph",
        "both": "need weights of their own",
        "neither": "no linear operator is better than the most frequent class",
    }
    assert words[signal] in finding.verdict


def test_a_guess_of_classes_is_their_shares():
    task = pgso.load_task("customers", signal="neither")
    y = task.y[torch.cat([task.train, task.val])].numpy()
    counts = torch.bincount(task.y[task.train]).double() + 0.5  # half a label more for each class
    share = (counts / counts.sum())[1].item()
    expected = -np.where(y == 1, np.log(share), np.log(1 - share))
    problem = Problem.prepared(task)
    np.testing.assert_allclose(guess_of(problem)[0].losses, expected, rtol=1e-6)


def test_a_guess_of_numbers_is_the_mean_of_the_others():
    problem = Problem.prepared(pgso.load_task("diabetes"))
    y = problem.y[problem.train].double()
    others = (y.sum() - y) / (len(y) - 1)
    rest = problem.y[problem.val].double()
    out = torch.cat([others, y.mean().expand(len(rest), 1)])
    errors = problem.objective.errors(out.numpy(), torch.cat([y, rest]).numpy())
    np.testing.assert_allclose(guess_of(problem)[0].losses, errors, rtol=1e-5)


def test_a_score_below_guessing_is_no_baseline_to_gain_from():
    y = np.random.default_rng(0).permutation([0, 1] * 20)
    finding = find(ring(40), torch.ones(40, 2), y, objective="roc_auc")
    assert finding.best.loo == 0.5  # though a label that is left out is rarer among the others
    assert finding.record.guess == 0.5
    assert all(rung.points == 0.0 for rung in finding.rungs if rung.loo <= 0.5)
    assert max(rung.points for rung in finding.rungs if rung.points is not None) <= 0.5


def test_labels_that_are_told_apart_without_a_mistake_are_a_signal():
    y = torch.arange(40) % 2
    finding = find(ring(40), 1000.0 * torch.eye(2)[y], y)
    assert finding.record.signal == "features"


def ring(n):
    nodes = torch.arange(n)
    there = torch.stack([nodes, nodes.roll(1)])
    return torch.cat([there, there.flip(0)], dim=1)
