import numpy as np
import pytest
import torch

from pgso.records import RunSpec
from pgso.training.fit import fit
from pgso.training.lockstep import runs
from pgso.training.lockstep.memory import replica_bytes
from pgso.training.lockstep.runs import MEBIBYTE, run_together
from tests.training.tasks import karate, minesweeper

PLENTY = 1024  # MiB
NETWORKS = {
    "plain": {"dropout": 0.5},
    "normed, residual": {"norm": "batch", "residual": True, "dropout": 0.3, "num_layers": 3},
}


def assert_equal(together, alone):
    """Scores and S, and every other number of every epoch, are as in a run alone."""
    assert together.spec.key == alone.spec.key
    assert together.numerics == alone.numerics
    assert together.epoch == alone.epoch
    for name in ("val", "test"):
        assert getattr(together, name) == pytest.approx(getattr(alone, name), abs=1e-5)
    for name in ("start", "parameters"):
        for one, other in zip(getattr(together, name), getattr(alone, name), strict=True):
            assert one == pytest.approx(other, abs=1e-5)
    assert together.nearest == alone.nearest
    assert together.curves == alone.curves


def check(specs):
    records = list(run_together(specs, None, PLENTY))
    assert [record.spec for record in records] == specs
    for record in records:
        assert_equal(record, fit(record.spec))


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("operator", ["fixed", "pgso", "mpgso"])
@pytest.mark.parametrize("conv", ["gcn", "sgc", "gin", "bank"])
def test_a_record_is_that_of_the_run_alone(conv, operator, network):
    choices = {"conv": conv, "operator": operator, **NETWORKS[network]}
    check([karate(seed=seed, **choices) for seed in range(3)])


@pytest.mark.parametrize(
    "choices",
    [
        {"norm": "layer"},
        {"jk": "cat"},
        {"jk": "max", "operator": "mpgso"},
        {"s_loss": "val", "s_decay": "start", "s_delay": 2},
        {"class_weights": "balanced", "input_dropout": 0.0},
        {"conv": "bank", "terms": ("self", "gcn@in", "gcn@out")},
        {"learn": ("m2", "a")},
    ],
)
def test_so_it_is_with_other_choices(choices):
    check([karate(seed=seed, **choices) for seed in range(2)])


def test_replicas_may_differ_in_rates_and_in_where_S_starts():
    rates = [karate(seed=1, lr=lr, exponent_lr=lr / 3) for lr in (0.01, 0.03)]
    check([*rates, karate(seed=1, preset="laplacian"), karate(seed=2, preset="mean")])


def test_replicas_may_have_features_of_their_own():
    check([minesweeper(seed=seed, norm="batch") for seed in range(2)])  # mines differ by seed


@pytest.fixture(params=[16, 100], ids=["dense", "sparse"])
def few_labels(request, tmp_path):
    """A ring of 1200 nodes with shortcuts, of which 21 train; narrow features stay dense."""
    rng = np.random.default_rng(0)
    n, width = 1200, request.param
    ring = np.arange(n)
    edges = [*zip(ring, (ring + 1) % n, strict=True), *rng.integers(0, n, (60, 2))]
    text = "source,target\n" + "".join(f"{u},{v}\n" for u, v in edges if u != v)
    (tmp_path / "edges.csv").write_text(text)
    np.save(tmp_path / "features.npy", (rng.random((n, width)) < 0.05).astype("float32"))
    labels = "".join(f"{node},{'xy'[node * 2 // n]}\n" for node in ring)
    (tmp_path / "labels.csv").write_text("node,label\n" + labels)
    parts = {0: "train", 1: "val", 2: "test"}
    split = "".join(f"{node},{parts[node // 3 % 3]}\n" for node in ring[::20])
    (tmp_path / "splits.csv").write_text("node,split\n" + split)
    return tmp_path


@pytest.mark.parametrize("choices", [{"operator": "fixed"}, {"operator": "mpgso", "dropout": 0.2}])
def test_a_loss_of_few_nodes_computes_few_nodes_and_gives_the_same_record(
    few_labels, choices, monkeypatch
):
    groups = []
    real = runs.Group

    def spying(*arguments):
        groups.append(real(*arguments))
        return groups[-1]

    monkeypatch.setattr(runs, "Group", spying)
    specs = [RunSpec(dataset=few_labels, seed=seed, epochs=8, **choices) for seed in range(2)]
    check(specs)
    sizes = [nodes.numel() for nodes in groups[0].loop.data.reach.nodes]
    assert 1200 > sizes[0] > sizes[1] > sizes[2] == 21


def test_a_replica_that_diverges_leaves_the_group_and_the_others_go_on():
    specs = [karate(seed=seed, lr=lr) for seed, lr in enumerate((0.01, 1e30, 0.01))]
    records = list(run_together(specs, None, PLENTY))
    assert [record.spec for record in records] == [specs[0], specs[2]]
    for record in records:
        assert_equal(record, fit(record.spec))


def test_groups_are_split_where_memory_is_short(groups):
    specs = [karate(seed=seed, epochs=1, hidden_channels=512) for seed in range(5)]
    one = replica_bytes(specs[0], runs.prepared(specs[0], runs.task_of(specs[0]))) / MEBIBYTE
    assert 1 < one < 20
    assert len(list(run_together(specs, None, int(2 * one) + 1))) == 4
    assert groups == [2, 2]  # and one that is left is run alone by the caller
    assert list(run_together(specs, None, 1)) == []


def test_other_graphs_are_left_to_the_caller():
    specs = [RunSpec(dataset="sbm", seed=seed, epochs=1) for seed in range(2)]  # one graph a seed
    assert list(run_together(specs, None, PLENTY)) == []


def test_torchs_generator_is_left_as_it_was():
    before = torch.get_rng_state()
    list(run_together([karate(seed=seed, epochs=1) for seed in range(2)], None, PLENTY))
    assert torch.equal(torch.get_rng_state(), before)
