"""Evidence is rare where there is nothing, and there where there is something."""

import pytest
import torch
from scipy.stats import ttest_rel

from pgso.evaluation.statistics import GROUPS, challenge


def test_one_of_thirty_equal_challengers_looks_better_in_one_of_twenty_cases():
    generator = torch.Generator().manual_seed(0)
    wrong, repeats = 0, 200
    for _ in range(repeats):
        shared = torch.randn(80, generator=generator).exp()
        challengers = shared + 0.3 * torch.randn(30, 80, generator=generator)
        wrong += min(found.p for found in challenge(shared, challengers)) <= 0.05
    assert wrong <= 0.05 * repeats + 2 * (0.05 * 0.95 * repeats) ** 0.5


def test_alike_challengers_share_their_luck():
    generator = torch.Generator().manual_seed(0)
    incumbent, noise = torch.rand(100, generator=generator), torch.randn(100, generator=generator)
    once = incumbent - 0.15 + noise * 0.6
    many = once.repeat(50, 1)
    alone, together = challenge(incumbent, once.unsqueeze(0))[0], challenge(incumbent, many)[0]
    assert 0.001 < alone.p < 0.1
    assert abs(together.p - alone.p) < 0.02  # fifty copies are one challenger


def test_a_better_one_is_found_among_worse_ones():
    generator = torch.Generator().manual_seed(0)
    incumbent = torch.rand(200, generator=generator)
    better, worse = 0.8 * incumbent, incumbent + 0.1 * torch.rand(200, generator=generator)
    found = challenge(incumbent, torch.stack([better, worse, incumbent]))
    assert found[0].p < 0.001
    assert found[0].interval[0] > 0
    assert found[1].p == 1
    assert found[1].interval[1] < 0
    assert (found[2].gain, found[2].p) == (0, found[2].p)
    assert found[2].p > 0.4


def test_a_handful_of_labels_is_no_evidence():
    assert challenge(torch.ones(5), torch.zeros(1, 5) + 0.01 * torch.arange(5))[0].p == 1


def test_nobody_challenges():
    assert challenge(torch.ones(20), torch.zeros(0, 20)) == []


def test_many_labels_are_drawn_in_groups():
    generator = torch.Generator().manual_seed(0)
    n = 10 * GROUPS
    incumbent = torch.rand(n, generator=generator)
    slightly = incumbent - 0.02 + 0.6 * torch.randn(n, generator=generator)
    equal = incumbent + 0.6 * torch.randn(n, generator=generator)
    found = challenge(incumbent, torch.stack([slightly, equal]))
    assert found[0].p < 0.01
    assert found[1].p > 0.05


def test_one_challenger_is_judged_by_students_test():
    generator = torch.Generator().manual_seed(0)
    incumbent, challenger = torch.rand(2, 30, generator=generator).double()
    (found,) = challenge(incumbent, challenger.unsqueeze(0))
    expected = ttest_rel(incumbent, challenger, alternative="greater").pvalue
    assert found.p == pytest.approx(expected)
