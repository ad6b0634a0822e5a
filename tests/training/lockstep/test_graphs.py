"""Folds of a graph task in lockstep have the records of the same runs alone, to the last digit."""

import pytest

from pgso.data import DATASETS
from pgso.data.load import task_of
from pgso.data.places import data_root
from pgso.models.stacked.ragged_shift import RaggedShift
from pgso.records import RunSpec
from pgso.training.fit import fit, prepared
from pgso.training.lockstep.memory import replica_bytes
from pgso.training.lockstep.runs import MEBIBYTE, run_together
from pgso.training.lockstep.sharing import can_share, steps_of
from tests.training.tasks import shapes, write_triangles_and_paths

PLENTY = 1024  # MiB
MODES = ("fixed", "pgso", "mpgso")
CONVS = ("gcn", "sgc", "gin")
NETWORKS = {
    "plain": {"dropout": 0.5},
    "normed": {"norm": "batch", "dropout": 0.3, "num_layers": 3, "pooling": "mean"},
}


def contents(record):
    """All of a record but its times."""
    return record.model_copy(update={"timing": {}}).model_dump(mode="json")


def check(specs, root):
    records = list(run_together(specs, root, PLENTY))
    assert [record.spec for record in records] == specs
    for record in records:
        assert contents(record) == contents(fit(record.spec, root))


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("operator", MODES)
@pytest.mark.parametrize("conv", CONVS)
def test_a_record_is_that_of_the_run_alone(conv, operator, network, shapes_root):
    choices = {"conv": conv, "operator": operator, **NETWORKS[network]}
    check([shapes(seed=seed, **choices) for seed in range(3)], shapes_root)


@pytest.mark.parametrize(
    "choices",
    [
        {"norm": "layer", "residual": True},
        {"conv": "gcn", "norm": "batch", "residual": True, "num_layers": 3},
        {"jk": "cat", "pooling": "max"},
        {"jk": "max", "operator": "mpgso"},
        {"s_decay": "start", "s_delay": 2},
        {"class_weights": "balanced", "input_dropout": 0.0},
        {"learn": ("m2", "a")},
        {"hidden_channels": 13, "dropout": 0.5},  # rows that begin anywhere in memory
        {"batch_size": 64},  # one step an epoch
    ],
)
def test_so_it_is_with_other_choices(choices, shapes_root):
    check([shapes(seed=seed, **choices) for seed in range(2)], shapes_root)


@pytest.mark.parametrize("conv", CONVS)
def test_replicas_may_differ_in_rates_and_in_where_S_starts(conv, shapes_root, monkeypatch):
    given = {"conv": conv, "residual": conv == "gcn"}
    rates = [shapes(seed=1, lr=lr, exponent_lr=lr / 3, **given) for lr in (0.01, 0.03)]
    # The last one does not compute γ x in one product: its diagonal is much larger than the rest.
    starts = ("laplacian", "mean", (5.0, 1.0, 5.0, 1.0, -0.5, -0.5, 1.0))
    mixing = []
    real = RaggedShift._in_part

    def spying(self, x, mixed):
        mixing.append(mixed.tolist())
        return real(self, x, mixed)

    monkeypatch.setattr(RaggedShift, "_in_part", spying)
    check([*rates, *(shapes(seed=2, preset=S, **given) for S in starts)], shapes_root)
    assert [True, True, True, True, False] in mixing


def test_batches_that_are_grouped_by_degree_give_the_same_record(tmp_path):
    write_triangles_and_paths(tmp_path, graphs=600)
    given = {"batch_size": 300, "epochs": 3, "conv": "gcn", "operator": "mpgso"}
    check([shapes(seed=seed, **given) for seed in range(2)], tmp_path)


def test_a_replica_that_diverges_leaves_the_group_and_the_others_go_on(shapes_root):
    specs = [shapes(seed=seed, conv="gcn", lr=lr) for seed, lr in enumerate((0.01, 1e30, 0.01))]
    records = list(run_together(specs, shapes_root, PLENTY))
    assert [record.spec for record in records] == [specs[0], specs[2]]
    for record in records:
        assert contents(record) == contents(fit(record.spec, shapes_root))


def test_folds_with_other_numbers_of_steps_are_groups_of_their_own(tmp_path, groups):
    write_triangles_and_paths(tmp_path, graphs=25)
    specs = [shapes(seed=seed, batch_size=4, epochs=2) for seed in range(3)]
    steps = [steps_of(spec, task_of(spec, tmp_path))[0] for spec in specs]
    assert sorted(set(steps)) == [2, 3]
    records = list(run_together(specs, tmp_path, PLENTY))
    assert groups == [2]  # and one that is left is run alone by the caller
    for record in records:
        assert contents(record) == contents(fit(record.spec, tmp_path))


def test_groups_are_split_where_memory_is_short(shapes_root):
    specs = [shapes(seed=seed, epochs=1, hidden_channels=512) for seed in range(3)]
    one = replica_bytes(specs[0], prepared(specs[0], task_of(specs[0], shapes_root))) / MEBIBYTE
    assert 1 < one < 100
    assert len(list(run_together(specs, shapes_root, int(2 * one) + 1))) == 2
    assert list(run_together(specs, shapes_root, 1)) == []


@pytest.mark.parametrize(
    "choices",
    [
        {"conv": "bank"},
        {"s_loss": "val"},
        {"batch_size": 2**20, "hidden_channels": 2**13},  # gradients of S would be added otherwise
    ],
)
def test_what_is_not_alike_is_left_to_the_caller(choices, shapes_root):
    spec = shapes(**choices)
    assert not can_share(spec, prepared(spec, task_of(spec, shapes_root)))
    assert list(run_together([spec, spec.but(seed=1)], shapes_root, PLENTY)) == []


@pytest.mark.skipif(bool(DATASETS["MUTAG"].missing(data_root())), reason="needs MUTAG's files")
@pytest.mark.parametrize("conv", CONVS)
def test_ten_folds_of_mutag(conv):
    check([RunSpec(dataset="MUTAG", conv=conv, epochs=2, seed=seed) for seed in range(10)], None)
