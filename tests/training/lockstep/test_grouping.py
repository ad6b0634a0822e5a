import pytest

from pgso.errors import InputError
from pgso.training.lockstep.grouping import MOST_REPLICAS, groups_of, memory_limit
from tests.training.tasks import karate


def test_runs_of_one_architecture_are_grouped_in_their_order():
    specs = [karate(operator=name, seed=seed) for seed in range(3) for name in ("fixed", "pgso")]
    groups = groups_of(specs, workers=1, memory=100)
    assert groups == [specs[0::2], specs[1::2]]


def test_every_worker_has_something_to_do():
    specs = [karate(seed=seed) for seed in range(10)]
    assert [len(group) for group in groups_of(specs, 3, 100)] == [4, 4, 2]
    many = [karate(seed=seed) for seed in range(2 * MOST_REPLICAS + 1)]
    assert max(len(group) for group in groups_of(many, 1, 100)) == MOST_REPLICAS


def test_where_there_are_many_groups_none_is_split_among_workers():
    widths = range(16, 16 + 16 * 8, 16)
    specs = [karate(hidden_channels=width, seed=seed) for width in widths for seed in range(3)]
    assert [len(group) for group in groups_of(specs, 2, 100)] == [3] * 8
    assert [len(group) for group in groups_of(specs[:21], 2, 100)] == [2, 1] * 7


@pytest.mark.parametrize(
    "choices",
    [
        {"conv": "gat"},
        {"operator": "auto"},
        {"operator": "found"},
        {"evidence": 0.9},
        {"sample": (5, 5)},
        {"shape": "channel", "operator": "mpgso"},
        {"max_radius": 2.0},
        {"head": "closed_form"},
        {"task": "link"},
        {"jk": "lstm"},
        {"basis": "chebyshev"},
    ],
)
def test_what_cannot_be_grouped_is_alone(choices):
    specs = [karate(seed=seed, **choices) for seed in range(2)]
    assert groups_of(specs, 1, 100) == [[spec] for spec in specs]


def test_the_memory_is_given_or_set_or_the_default(monkeypatch):
    assert memory_limit(7) == 7
    monkeypatch.setenv("PGSO_LOCKSTEP", "12")
    assert memory_limit() == 12
    assert memory_limit(7) == 7
    monkeypatch.delenv("PGSO_LOCKSTEP")
    assert memory_limit() > 0
    monkeypatch.setenv("PGSO_LOCKSTEP", "lots")
    with pytest.raises(InputError, match="PGSO_LOCKSTEP is the memory of a group in MiB"):
        memory_limit()
    with pytest.raises(InputError, match="0 MiB or more"):
        memory_limit(-1)
