"""Appendix B.2.2: three groups, the exponents at half the rate."""

import pytest
import torch

from pgso import GNN, PGSO, FilterConv, param_groups


@pytest.mark.parametrize(("operator", "count"), [("pgso", 1), ("mpgso", 2)])
def test_every_parameter_is_in_exactly_one_group(operator, count):
    model = GNN("gcn", 4, 8, 3, operator=operator)
    groups = {group["name"]: group for group in param_groups(model)}
    assert len(groups["exponents"]["params"]) == 3 * count
    assert len(groups["scalars"]["params"]) == 4 * count
    grouped = [id(p) for group in groups.values() for p in group["params"]]
    assert sorted(grouped) == sorted(id(p) for p in model.parameters())
    rates = {name: group["lr"] for name, group in groups.items()}
    assert rates == {"weights": 0.01, "scalars": 0.01, "exponents": 0.005}


def test_a_fixed_operator_has_nothing_to_group():
    assert [group["name"] for group in param_groups(GNN("gcn", 4, 8, 3, operator="fixed"))] == [
        "weights"
    ]


def test_an_optimiser_takes_the_groups():
    optimiser = torch.optim.Adam(param_groups(GNN("gin", 4, 8, 3), 0.1, 0.02, 0.0))
    assert [group["lr"] for group in optimiser.param_groups] == [0.1, 0.1, 0.02]
    assert all(group["weight_decay"] == 0 for group in optimiser.param_groups)


def test_what_is_tied_is_listed_once():
    first, second = PGSO("gcn"), PGSO("mean")
    second.a = first.a
    filters = [FilterConv(2, 2, K=3), FilterConv(2, 2, K=3)]
    filters[1].coefficients = filters[0].coefficients
    model = torch.nn.ModuleList([first, second, *filters])
    listed = [id(p) for group in param_groups(model) for p in group["params"]]
    assert sorted(listed) == sorted(id(p) for p in model.parameters())
