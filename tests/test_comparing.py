"""The paired comparison in Python, of our networks and of the user's own."""

import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.nn import GCN

import pgso
from pgso.errors import InputError
from pgso.report.comparison import Comparison

N = 60
RING = torch.stack([torch.arange(N), (torch.arange(N) + 1) % N])
DATA = Data(
    x=torch.rand(N, 4, generator=torch.Generator().manual_seed(0)),
    edge_index=torch.cat([RING, RING.flip(0)], dim=1),
    y=(torch.arange(N) // 5) % 2,
)


def test_data_in_memory_are_compared_on_splits_of_their_own():
    records = []
    found = pgso.compare(DATA, seeds=2, epochs=4, tell=records.append)
    assert isinstance(found, Comparison)
    assert found.operators == ("fixed", "pgso", "mpgso")
    assert [(r.spec.operator, r.spec.seed) for r in records][:4] == [
        ("fixed", 0), ("pgso", 0), ("mpgso", 0), ("fixed", 1),
    ]  # fmt: skip
    assert found.verdict


def test_the_command_and_python_give_the_same_scores():
    found = pgso.compare("karate", seeds=1, epochs=4)
    alone = pgso.fit(pgso.RunSpec(dataset="karate", operator="fixed", seed=0, epochs=4))
    fixed = next(entry for entry in found.test.summaries if entry.operator == "fixed")
    assert fixed.mean == pytest.approx(100 * alone.test)


def test_a_model_of_the_user_is_compared_with_its_converted_self():
    model = GCN(4, 8, num_layers=2, out_channels=2, dropout=0.5)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    records = []
    found = pgso.compare(DATA, model, seeds=2, epochs=6, tell=records.append)
    assert found.conv == "GCN"
    assert found.operators == ("fixed", "pgso", "mpgso")
    # The first loss is of the same weights, the same dropout and the same operator.
    first = [record.curves["loss"][0] for record in records]
    assert first[0] == pytest.approx(first[1], rel=1e-4) == pytest.approx(first[2], rel=1e-4)
    assert first[0] != pytest.approx(first[3], rel=1e-4)
    assert records[0].curves["loss"][-1] != records[1].curves["loss"][-1]
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name])


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"model": GCN(4, 8, 2, out_channels=3)}, r"numbers of shape \(60, 2\), got \(60, 3\)"),
        ({"model": torch.nn.Linear(4, 2)}, "Linear"),
        ({"seeds": 0}, "seeds must be a whole number from 1 to 10000"),
        ({"seeds": 10**9}, "seeds must be a whole number from 1 to 10000"),
        ({"model": 5}, "model must be a torch module, got int"),
        ({"operator": "fixed"}, "compare chooses operator itself"),
    ],
)
def test_what_cannot_be_compared_is_refused(arguments, problem):
    with pytest.raises((InputError, TypeError), match=problem):
        pgso.compare(DATA, **{"seeds": 1, "epochs": 1, **arguments})
