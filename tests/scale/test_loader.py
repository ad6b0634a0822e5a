"""The loader: every node once an epoch, the same epoch again, shared by processes."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

import pgso
from pgso.errors import InputError
from pgso.scale import mapped_features
from tests.training.tasks import write_triangles_and_paths


@pytest.fixture
def task():
    return pgso.load_task("minesweeper", rows=12, cols=12)


def test_an_epoch_has_every_training_node_once(task):
    loader = pgso.NeighborLoader(task, [3, 2], batch_size=10)
    batches = list(loader)
    seeds = torch.cat([batch.nodes[: batch.num_seeds] for batch in batches])
    assert len(loader) == len(batches)
    assert torch.equal(seeds.sort().values, task.train.sort().values)
    assert not torch.equal(seeds, task.train)
    for batch in batches:
        assert torch.equal(batch.y, task.y[batch.nodes[: batch.num_seeds]])
        assert torch.equal(batch.x, task.x[batch.nodes])


def test_data_of_pyg_are_loaded_as_their_task_is():
    edges = torch.arange(20).repeat(2).view(2, 20).roll(1, dims=1)
    mask = torch.arange(20) < 8
    data = Data(
        x=torch.rand(20, 3),
        edge_index=edges,
        y=torch.arange(20) % 2,
        train_mask=mask,
        val_mask=~mask,
    )
    (batch,) = pgso.NeighborLoader(data, [2], shuffle=False)
    assert batch.nodes[: batch.num_seeds].tolist() == list(range(8))


def test_the_same_epoch_is_the_same_again_and_the_next_is_another(task):
    first, again = (pgso.NeighborLoader(task, [2], batch_size=30, seed=3) for _ in range(2))
    one, other = next(iter(first)), next(iter(again))
    assert torch.equal(one.nodes, other.nodes)
    assert torch.equal(one.graph.edge_index, other.graph.edge_index)
    assert not torch.equal(next(iter(first)).nodes, one.nodes)


def test_processes_share_every_batch_and_their_weights_give_the_mean(task):
    loaders = [
        pgso.NeighborLoader(task, [2], batch_size=10, rank=rank, num_ranks=3) for rank in range(3)
    ]
    whole = pgso.NeighborLoader(task, [2], batch_size=10)
    for together, *shares in zip(whole, *loaders, strict=False):
        seeds = torch.cat([part.nodes[: part.num_seeds] for part in shares])
        expected = together.nodes[: together.num_seeds]
        assert torch.equal(seeds.sort().values, expected.sort().values)
        means = [part.weight * part.y.double().mean() for part in shares]
        torch.testing.assert_close(sum(means) / 3, together.y.double().mean())


def test_sparse_features_come_row_by_row(task):
    sparse = replace(task, x=task.x.to_sparse_csr())
    batch = next(iter(pgso.NeighborLoader(sparse, [2], batch_size=5)))
    assert batch.x.layout == torch.sparse_csr
    assert torch.equal(batch.x.to_dense(), task.x[batch.nodes])
    pgso.GNN("gcn", task.num_features, 4, 2)(batch.x, batch.graph).sum().backward()


def test_mapped_features_are_read_where_a_batch_needs_them(task, tmp_path):
    np.save(tmp_path / "x.npy", task.x.numpy())
    mapped = replace(task, x=mapped_features(tmp_path / "x.npy"))
    batch = next(iter(pgso.NeighborLoader(mapped, [2], batch_size=5)))
    assert torch.equal(batch.x, task.x[batch.nodes])


def test_a_mapped_file_that_is_no_matrix_is_refused(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros(3, dtype=np.float32))
    with pytest.raises(InputError, match="two dimensions"):
        mapped_features(tmp_path / "x.npy")
    with pytest.raises(InputError, match="cannot be mapped"):
        mapped_features(tmp_path / "none.npy")


@pytest.mark.parametrize("sizes", [[], [0], [2, -2], [1.5], [True]])
def test_sizes_that_mean_nothing_are_refused(task, sizes):
    with pytest.raises(InputError, match="num_neighbors"):
        pgso.NeighborLoader(task, sizes)


def test_a_batch_without_a_node_for_every_process_is_refused(task):
    with pytest.raises(InputError, match="batch_size must be an integer, 3 or more"):
        pgso.NeighborLoader(task, [2], batch_size=2, num_ranks=3)


def test_collections_of_graphs_are_refused(tmp_path):
    write_triangles_and_paths(tmp_path)
    shapes = pgso.load_task("SHAPES", tmp_path, folds=3)
    with pytest.raises(InputError, match=r"task\.batch"):
        pgso.NeighborLoader(shapes)


def test_features_of_a_folder_stay_on_disk(tmp_path):
    edges = "\n".join(f"{i},{(i + 1) % 12}" for i in range(12))
    (tmp_path / "edges.csv").write_text("source,target\n" + edges)
    (tmp_path / "labels.csv").write_text("\n".join("ab"[i % 2] for i in range(12)))
    np.save(tmp_path / "features.npy", np.arange(36, dtype=np.float32).reshape(12, 3))
    task = pgso.load_task(tmp_path)
    maps = Path("/proc/self/maps").read_text().splitlines()
    spans = [line.split()[0].split("-") for line in maps if str(tmp_path) in line]
    assert any(int(start, 16) <= task.x.data_ptr() < int(end, 16) for start, end in spans)


def test_nodes_may_be_a_mask_or_an_array():
    task = pgso.load_task("karate")
    mask = torch.zeros(34, dtype=torch.bool)
    mask[[1, 5]] = True
    for nodes in (mask, np.array([1, 5]), [1, 5]):
        (batch,) = pgso.NeighborLoader(task, [2], nodes=nodes, shuffle=False)
        assert batch.nodes[:2].tolist() == [1, 5]


@pytest.mark.parametrize(
    "choices", [{"num_neighbors": 5}, {"batch_size": "a"}, {"batch_size": 2.5}]
)
def test_wrong_sizes_are_refused_in_words(choices):
    with pytest.raises(InputError, match=next(iter(choices))):
        pgso.NeighborLoader(pgso.load_task("karate"), **choices)


def test_a_graph_is_no_task():
    with pytest.raises(InputError, match="takes a Task"):
        pgso.NeighborLoader(pgso.load_task("karate").graph)


def resident(path: Path) -> int:
    """Bytes of a mapped file that are in this process's memory."""
    lines = iter(Path("/proc/self/smaps").read_text().splitlines())
    actual = 0
    for line in lines:
        if line.endswith(str(path)):
            size = next(each for each in lines if each.startswith("Rss:"))
            actual += 1024 * int(size.split()[1])
    return actual


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="Linux says what is mapped")
def test_only_the_rows_of_a_batch_are_read_from_disk(task, tmp_path):
    path, n = tmp_path / "x.npy", 1_000_000
    np.lib.format.open_memmap(path, "w+", np.float32, (n, 32)).flush()  # 128 MB of holes
    ring = torch.arange(n)
    edges = torch.stack([torch.cat([ring, ring.roll(1)]), torch.cat([ring.roll(1), ring])])
    large = replace(
        task,
        graph=pgso.Graph.from_edge_index(edges),
        x=mapped_features(path),
        y=torch.zeros(n, dtype=torch.long),
        train=ring[:: n // 50],
    )
    before = resident(path)
    (batch,) = pgso.NeighborLoader(large, [2], batch_size=64)
    assert batch.x.shape == (150, 32)
    assert resident(path) - before < 32 * 2**20


def test_neighbours_are_sampled_within_one_graph():
    edges = torch.tensor([[0, 1], [1, 0]])
    graphs = [Data(x=torch.ones(2, 1), edge_index=edges, y=torch.tensor([k % 2])) for k in range(9)]
    with pytest.raises(InputError, match=r"within one graph.*leave out sample"):
        pgso.NeighborLoader(pgso.Task.from_data(graphs), [2])
