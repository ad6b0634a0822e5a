"""Guess, features, graph: each finds its own signal, and no more."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from pgso.data import Task, load_task
from pgso.evaluation.baselines import baselines, circular_fingerprints


def scores(task):
    return {baseline.name: baseline.test for baseline in baselines(task)}


def test_the_features_are_found_where_they_are():
    actual = scores(load_task("customers", signal="features"))
    assert actual["guess"] == 0.5
    assert actual["features"] > 0.8
    assert actual["graph"] < 0.65
    assert scores(load_task("customers", signal="neither"))["features"] < 0.65


def test_the_graph_without_features_finds_communities():
    task = load_task("sbm", p=0.3, q=0.05, size=60)
    actual = scores(task)
    assert actual["graph"] > 0.9
    shares = task.y[task.test].bincount() / len(task.test)
    assert actual["guess"] in [pytest.approx(share.item()) for share in shares]


def test_trees_find_what_is_not_linear_and_what_neighbours_say():
    task = load_task("minesweeper")
    found = scores(task)
    assert found["boosted"] < 0.6
    assert found["boosted_graph"] > 0.8  # no column of a node says it, those of its neighbours do
    few = scores(replace(task, train=task.train[:49]))
    assert not {"boosted", "boosted_graph"} & set(few)


def test_nodes_that_are_their_own_features_have_no_model_of_features():
    assert set(scores(load_task("karate"))) == {"guess", "graph"}


def test_numbers_have_a_mean_and_a_ridge():
    task = load_task("diabetes")
    actual = scores(task)
    y = task.y[task.test] - task.y[task.train].mean()
    assert actual["guess"] == pytest.approx(y.square().mean().sqrt().item(), rel=1e-4)
    assert actual["features"] < 0.85 * actual["guess"]


def molecules(count=120, seed=0):
    """Chains of two kinds of atoms, half of each: 0 0 0 1 1 1, or another order of the same."""
    rng, orders = np.random.default_rng(seed), [[0, 0, 0, 1, 1, 1], [0, 1, 0, 1, 0, 1]]
    kinds, chain = rng.integers(0, 2, count), np.stack([np.arange(5), np.arange(1, 6)])
    x = np.concatenate([np.array(orders[kind])[:, None] for kind in kinds])
    edges = np.concatenate([chain + 6 * k for k in range(count)], axis=1)
    return Task.from_arrays(
        "chains",
        edge_index=np.concatenate([edges, edges[::-1]], axis=1),
        x=x,
        y=kinds,
        split=np.split(np.arange(count), [80, 100]),
        nodes_per_graph=np.full(count, 6),
        categories=(2,),
        classes=("apart", "mixed"),
    )


def test_molecules_are_known_by_the_surroundings_of_their_atoms():
    task = molecules()
    found = scores(task)
    assert found["fingerprints"] == 1.0
    assert max(found[name] for name in ("guess", "features", "graph")) < 0.8
    assert "fingerprints" not in scores(load_task("karate"))
    assert "fingerprints" not in scores(replace(task, train=task.train[:49]))


def test_fingerprints_do_not_depend_on_the_order_of_atoms():
    task = molecules(count=2)
    other = task.with_edges(task.graph.edge_index.numpy()[:, ::-1].copy())
    bits = circular_fingerprints(task)
    np.testing.assert_array_equal(circular_fingerprints(other), bits)
    reverse = torch.arange(11, -1, -1)  # the second molecule first, each from its end
    edges = reverse[task.graph.edge_index].numpy()
    turned = replace(task.with_edges(edges), x=task.x[reverse])
    np.testing.assert_array_equal(circular_fingerprints(turned), bits[::-1])
    assert bits.sum(1).max() <= 3 * 6  # an atom alone, with its neighbours, and with theirs


def test_graphs_are_known_by_their_sizes():
    task = load_task("karate")
    graphs = torch.full((10,), 3)
    n = 30
    several = replace(
        task,
        kind="graph",
        graph=type(task.graph).from_edge_index(torch.tensor([[0, 1], [1, 0]]), num_nodes=n),
        x=torch.rand(n, 4),
        y=torch.arange(10) % 2,
        train=torch.arange(6),
        val=torch.arange(6, 8),
        test=torch.arange(8, 10),
        nodes_per_graph=graphs,
    )
    assert set(scores(several)) == {"guess", "features", "graph"}


def test_missing_targets_are_left_out():
    task = load_task("diabetes")
    y = task.y.clone()
    y[task.train[::3]] = torch.nan
    known = np.isfinite(list(scores(replace(task, y=y)).values()))
    assert known.all()


def test_several_labels_are_found_where_they_are():
    rng = torch.Generator().manual_seed(0)
    task = load_task("diabetes", objective=None)
    x = torch.randn(task.num_nodes, 3, generator=rng)
    y = torch.stack([x[:, 0] > 0, x[:, 1] > 1], dim=1).float()
    y[::7, 1] = torch.nan
    several = replace(
        task, x=x, y=y, targets=(), classes=("red", "blue"), metric="multilabel_roc_auc"
    )
    found = scores(several)
    assert found["guess"] == 0.5
    assert found["features"] > 0.97
    assert found["graph"] < 0.7


def test_links_are_found_by_common_neighbours_or_by_like_features():
    communities = load_task("sbm", p=0.5, q=0.01, size=60, task="link")
    assert scores(communities)["guess"] == 0.5
    assert scores(communities)["graph"] > 0.8
    blocks = torch.arange(communities.num_nodes) // 60
    features = replace(communities, x=torch.eye(int(blocks.max()) + 1)[blocks])
    assert scores(features)["features"] > 0.85
    assert set(scores(load_task("karate", task="link"))) == {"guess", "graph"}


def test_targets_that_nothing_can_be_computed_from_give_no_warnings():
    task = load_task("diabetes")  # warnings are errors in tests
    assert len(baselines(replace(task, y=task.y * 1e37))) == 5
    y = task.y.clone()
    y[task.train] = torch.nan
    baselines(replace(task, y=y, train=task.train[:2]))


def test_huge_targets_have_the_baselines_of_smaller_ones():
    task = load_task("diabetes")
    small, huge = (scores(replace(task, y=task.y * unit)) for unit in (2.0**80, 2.0**119))
    for name, score in small.items():
        assert score is not None
        assert huge[name] == pytest.approx(score * 2.0**39, rel=1e-4)


def test_a_shift_of_the_targets_changes_no_baseline():
    task = load_task("diabetes")
    far = replace(task, y=task.y.double() + 1.7e9)
    assert scores(far) == pytest.approx(scores(task), rel=1e-4)
