"""Sizes, graphs and S at which arithmetic changes: records of a group are those of runs alone."""

import random
from itertools import pairwise

import numpy as np
import pytest
import torch

from pgso.data.dataset import suited
from pgso.graph import Graph
from pgso.gso.shift import unchecked_shift
from pgso.models.stacked.products import FEW_ROWS, TINY, rounds_alike
from pgso.models.stacked.replica_shift import ReplicaShift
from pgso.records import RunSpec
from pgso.training.fit import fit
from pgso.training.lockstep.runs import run_together
from tests.training.tasks import karate, minesweeper

APART = (5.0, 1.0, 5.0, 1.0, -0.5, -0.5, 1.0)  # γ x is not one product: its diagonal is large
WEAK = (0.0, 0.01, 3.0, 0.0, -0.5, -0.5, 1.0)  # likewise
STARTS = (None, APART, "mean", WEAK, "laplacian")
RATES = (0.01, 0.05, 0.3)


def check(specs):
    """Every field of a record but its timing."""
    records = list(run_together([suited(spec) for spec in specs], None, memory=1024))
    assert records
    for record in records:
        together, alone = (r.model_dump(exclude={"timing"}) for r in (record, fit(record.spec)))
        assert together == alone


def replicas(make, count=3, **choices):
    """Specs that differ in seed, rate and start."""
    for seed in range(count):
        start = {} if choices.get("conv") == "bank" else {"preset": STARTS[seed]}
        yield make(seed=seed, lr=RATES[seed % 3], **choices, **start)


@pytest.mark.parametrize("width", [8, 13, 16, 20])
@pytest.mark.parametrize(
    "choices",
    [
        {"conv": "gin"},
        {"norm": "batch", "residual": True, "jk": "max", "num_layers": 3, "dropout": 0.0},
        {"norm": "layer", "operator": "mpgso", "s_loss": "val"},
        {"conv": "sgc", "jk": "cat"},
        {"conv": "bank", "terms": ("self", "gcn", "5,1,5,1,-0.5,-0.5,1"), "jk": "cat"},
    ],
)
def test_any_width(width, choices):
    check(list(replicas(karate, 5, hidden_channels=width, **choices)))


@pytest.mark.parametrize("conv", ["gcn", "sgc", "gin", "bank"])
def test_few_features(conv):
    check(
        list(replicas(minesweeper, conv=conv, residual=True, data_options={"rows": 9, "cols": 7}))
    )


@pytest.fixture
def folder(tmp_path):
    """Writes a task of one's own: a ring with shortcuts, of which some nodes train."""

    def write(n, features, labels, train, weighted=False):
        rng = np.random.default_rng(0)
        ring = [*pairwise(range(n)), (n - 1, 0)]
        chords = {(int(u), int(v)) for u, v in rng.integers(0, n, (n // 20, 2)) if u + 1 < v}
        ends = [*ring, *sorted(chords - {(0, n - 1)})]
        weights = [f",{w:.2f}" if weighted else "" for w in rng.uniform(0.2, 2, len(ends))]
        lines = [f"{u},{v}{w}\n" for (u, v), w in zip(ends, weights, strict=True)]
        head = "source,target,weight\n" if weighted else "source,target\n"
        (tmp_path / "edges.csv").write_text(head + "".join(lines))
        np.save(tmp_path / "features.npy", features(rng, n).astype("float32"))
        lines = [f"{node},{labels(node)}\n" for node in range(n)]
        (tmp_path / "labels.csv").write_text("node,label\n" + "".join(lines))
        split = {**dict.fromkeys(range(0, n, 5), "val"), **dict.fromkeys(range(1, n, 5), "test")}
        split |= dict.fromkeys(range(2, n, n // train), "train")
        lines = [f"{node},{part}\n" for node, part in split.items()]
        (tmp_path / "splits.csv").write_text("node,split\n" + "".join(lines))
        return lambda **choices: RunSpec(dataset=tmp_path, epochs=6, **choices)

    return write


def few_words(rng, n):
    return rng.random((n, 91)) < 0.03


@pytest.mark.parametrize("conv", ["gcn", "sgc", "gin"])
def test_weights_of_sparse_features_that_are_no_multiple_of_16(folder, conv):
    make = folder(200, few_words, lambda node: "abcdefg"[node % 7], train=60)
    check(list(replicas(make, conv=conv, hidden_channels=13)))


@pytest.mark.parametrize("width", [13, 16])
@pytest.mark.parametrize("operator", ["pgso", "mpgso"])
def test_a_loss_of_few_nodes_with_an_operator_in_two_parts(folder, width, operator):
    make = folder(1200, few_words, lambda node: "abc"[node % 3], train=30)
    check(list(replicas(make, 4, operator=operator, hidden_channels=width)))


def test_directed_edges_with_weights(folder):
    make = folder(90, lambda rng, n: rng.random((n, 13)), lambda node: "ab"[node % 2], 40, True)
    directed = {"undirected": False}
    check(list(replicas(make, data_options=directed, residual=True)))
    check(list(replicas(make, data_options=directed, conv="bank", terms=("self", "gcn@out"))))


def test_one_output(folder, tmp_path):
    make = folder(90, lambda rng, n: rng.random((n, 16)), lambda node: f"{node / 7:.3f}", 40)
    (tmp_path / "labels.csv").rename(tmp_path / "targets.csv")
    check([make(seed=seed, hidden_channels=16) for seed in range(3)])


def test_gradients_of_operators_are_equal_in_doubles():
    torch.manual_seed(0)
    for n, width in ((60, 13), (1300, 7)):
        edges = torch.randint(0, n, (2, 3 * n))
        graph = Graph.from_edge_index(torch.cat([edges, edges.flip(0)], 1).unique(dim=1), None, n)
        starts = [(0, 1, 0, 0, -0.5, -0.5, 1), APART, (1, -1, 0, 1, 0, 0, 0), WEAK]
        S = (torch.tensor(starts).double().t() + 0.1 * torch.rand(7, 4).double()).requires_grad_()
        x, g = torch.randn(4, n, width), torch.randn(4, n, width)
        operator = ReplicaShift(graph, graph.copies(4), S)
        (operator.times(operator.times(x).relu()) * g).sum().backward()
        for r in range(4):
            S_r = S.detach()[:, r].clone().requires_grad_()
            alone = unchecked_shift(graph, S_r, "row")
            (alone.times(alone.times(x[r].clone()).relu()) * g[r].clone()).sum().backward()
            assert torch.equal(S.grad[:, r], S_r.grad)


def test_batches_of_products_and_fewer_rows_round_as_products_one_by_one():
    """What ``rounds_alike`` assumes of the library that multiplies matrices."""
    torch.manual_seed(0)
    rng = random.Random(0)
    for _ in range(100):
        n = rng.choice([16, 34, 77, 183, 331, 1201])
        width, outputs = (
            16 * rng.choice([1, 2, 4, 5, 8]),
            rng.choice([2, 3, 5, 6, 7, 10, 13, 40, 64]),
        )
        assert rounds_alike(width, outputs)
        assert n * width * outputs >= TINY
        x, weight = torch.randn(3, n, width), torch.randn(3, outputs, width)
        g = torch.randn(3, n, outputs)
        some = torch.randperm(n)[: rng.randint(FEW_ROWS, n)].sort().values
        turned = weight.transpose(1, 2)
        batches = torch.bmm(x, turned), torch.bmm(g, weight), torch.bmm(g.transpose(1, 2), x)
        fewer = torch.bmm(x[:, some], turned), torch.bmm(g[:, some], weight)
        for r in range(3):
            x_r, weight_r, g_r = (part[r].clone() for part in (x, weight, g))
            alone = x_r @ weight_r.t(), g_r @ weight_r, g_r.t() @ x_r
            for batch, one in zip(batches, alone, strict=True):
                assert torch.equal(batch[r], one)
            for rows, one in zip(fewer, alone[:2], strict=True):
                assert torch.equal(rows[r], one[some])
