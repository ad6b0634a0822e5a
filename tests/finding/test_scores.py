"""Losses that judge, and the objective's scores."""

from dataclasses import replace

import pytest
import torch

from pgso.data import Task
from pgso.finding.problem import Problem, Readout, losses
from pgso.objectives import OBJECTIVES
from tests.finding.problems import generated


def test_a_score_is_the_objectives_own_and_none_without_labels():
    out, items = torch.randn(60, 3, generator=torch.Generator().manual_seed(0)), torch.arange(60)
    for name in ("accuracy", "macro_f1"):
        problem = generated("nothing", metric=name)
        expected = OBJECTIVES[name].score(out.numpy(), problem.y[items].numpy())
        assert problem.score(out, items) == expected
        assert problem.score(out[:0], items[:0]) is None


def test_balanced_losses_are_those_of_a_world_of_equal_classes():
    problem = generated("nothing", metric="balanced_accuracy")
    y = torch.tensor([0] * 90 + [1] * 10)
    problem = replace(
        problem, y=y, train=torch.arange(100), val=torch.arange(0), classes=("a", "b")
    )
    values = torch.tensor([[0.9, 0.1]]).expand(100, 2)  # the priors, for everybody
    out = replace(Readout.of(problem), factor=1.0)(values)
    torch.testing.assert_close(out.softmax(1), torch.full((100, 2), 0.5, dtype=torch.float64))
    actual = losses(problem, out, y)
    assert float(actual[:90].sum()) == pytest.approx(float(actual[90:].sum()))


def test_numbers_come_back_in_their_units():
    problem = generated("nothing")
    y = torch.randn(400, 2) * torch.tensor([1.0, 50.0]) + 7
    y[problem.val[0]] = float("nan")
    fields = {name: getattr(problem, name) for name in ("train", "val", "test", "graph", "x")}
    numbers = Problem.prepared(Task(
        **fields, y=y, name="n", kind="node", metric="mae", classes=(), targets=("a", "b"),
        nodes_per_graph=torch.tensor([400]),
    ))  # fmt: skip
    assert len(numbers.val) == len(problem.val) - 1
    torch.testing.assert_close(
        numbers.Y.square().mean(0), torch.ones(2, dtype=torch.float64), rtol=1e-4, atol=0
    )
    decoded = Readout.of(numbers)(numbers.Y)
    torch.testing.assert_close(decoded.float(), y[numbers.train])
    off = decoded + torch.tensor([0.1, 5.0])
    assert losses(numbers, off, y[numbers.train]).numpy() == pytest.approx(
        OBJECTIVES["mae"].errors(off.numpy(), y[numbers.train].numpy())
    )
