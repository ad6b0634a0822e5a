"""The optimiser of a group takes the steps that every replica would take alone."""

import pytest
import torch

from pgso.models.stacked import Views
from pgso.training.lockstep.adam import GroupAdam


@pytest.mark.parametrize("size", [1, 3, 7, 16, 23, 64])
@pytest.mark.parametrize("rates", [[0.01, 0.01, 0.01], [0.01, 0.02, 0.01]])
def test_every_replica_takes_its_own_steps_to_the_last_digit(size, rates):
    torch.manual_seed(0)
    alone = [torch.nn.Parameter(torch.randn(size)) for _ in rates]
    stacked = torch.nn.Parameter(torch.stack([part.detach() for part in alone]))
    groups = [
        {"params": [part], "lr": lr, "weight_decay": 5e-4}
        for part, lr in zip(alone, rates, strict=True)
    ]
    together = GroupAdam([Views(stacked, list(alone), turned=False)], [[group] for group in groups])
    optimisers = [torch.optim.Adam([group], fused=True) for group in groups]
    for _ in range(60):
        stacked.grad = torch.randn(len(rates), size)
        for part, gradient in zip(alone, stacked.grad, strict=True):
            part.grad = gradient.clone()
        together.step()
        for optimiser in optimisers:
            optimiser.step()
    assert torch.equal(stacked.detach(), torch.stack([part.detach() for part in alone]))
