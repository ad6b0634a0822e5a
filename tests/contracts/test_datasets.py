"""What every dataset keeps: its published sizes, a sound split, its seed, and PyG's content."""

import shutil

import pytest
import torch
import torch_geometric.datasets as pyg
from torch_geometric.data import Batch, Data
from typer.testing import CliRunner

from pgso.cli.main import app
from pgso.data import DATASETS, load_task
from pgso.data.dataset import Dataset, check_options
from pgso.data.places import data_root
from pgso.errors import InputError

LARGE = ("ogbn-arxiv", "ogbn-arxiv-topicbag", "ogbg-molhiv")
OF_SMILES = ("ESOL", "FreeSolv", "Lipophilicity")


def need(name: str) -> None:
    missing = DATASETS[name].missing(data_root())
    if missing:
        pytest.skip(f"{missing[0]} is not here")
    if DATASETS[name].name in OF_SMILES:
        pytest.importorskip("rdkit")


@pytest.fixture(params=list(DATASETS), scope="module")
def dataset(request) -> Dataset:
    need(request.param)
    return DATASETS[request.param]


@pytest.fixture(scope="module")
def task(dataset):
    return load_task(dataset.name)


def test_the_sizes_are_the_published_ones(dataset, task):
    actual = (task.num_graphs, task.num_nodes, task.num_edges, task.num_features, task.num_classes)
    assert dataset.sizes is None or actual == dataset.sizes
    assert (task.name, task.kind, task.metric) == (dataset.name, dataset.kind, dataset.metric)


def test_the_parts_are_disjoint_labelled_and_in_range(task):
    together = torch.cat([task.train, task.val, task.test])
    assert together.dtype == torch.int64
    assert together.unique().numel() == together.numel()
    assert min(len(task.train), len(task.val), len(task.test)) > 0
    y = task.y[together]
    assert (y >= 0).all() if task.answer == "class" else y.isfinite().any(dim=1).all()
    assert task.y[task.train].unique().numel() > 1


def test_tensors_have_the_shapes_and_types_that_training_expects(task):
    items = task.num_graphs if task.kind == "graph" else task.num_nodes
    if task.answer == "class":
        assert (task.y.dtype, task.y.shape) == (torch.int64, (items,))
    else:
        assert (task.y.dtype, task.y.shape) == (torch.float32, (items, task.num_outputs))
    assert task.x.shape == (task.num_nodes, task.num_features)
    if task.categories is None:
        assert task.x.dtype == torch.float32
        values = task.x.values() if task.x.layout == torch.sparse_csr else task.x
        assert values.isfinite().all()
    else:
        assert task.x.dtype == torch.int64
        assert (task.x.max(0).values < torch.tensor(task.categories)).all()
    assert int(task.nodes_per_graph.sum()) == task.num_nodes


def test_the_name_may_be_written_in_any_case_and_a_seed_is_a_task(dataset):
    if dataset.name in LARGE:
        pytest.skip("large: its split does not depend on the seed")
    first, again = load_task(dataset.name.upper(), seed=7), load_task(dataset.name.lower(), seed=7)
    for part in ("train", "val", "test", "y"):
        torch.testing.assert_close(getattr(first, part), getattr(again, part), equal_nan=True)
    assert torch.equal(first.graph.edge_index, again.graph.edge_index)
    assert first.x.layout == again.x.layout


def test_an_unknown_option_is_answered_with_the_known_ones():
    for dataset in DATASETS.values():
        with pytest.raises(InputError, match=f"{dataset.name} has no option 'colour'") as caught:
            check_options(dataset.options, {"colour": 1}, dataset.name)
        assert all(option in str(caught.value) for option in dataset.options)


def test_the_command_line_lists_them_all_whole_and_says_whose_files_are_here():
    shown = CliRunner().invoke(app, ["list", "datasets"], env={"COLUMNS": "80"}).stdout
    rows = {line.split()[0]: line.split() for line in shown.splitlines() if line.strip()}
    for dataset in DATASETS.values():
        *sizes, files = rows[dataset.name][1:7]
        if dataset.sizes is not None:
            assert [int(size.replace(",", "")) for size in sizes] == list(dataset.sizes)
        if dataset.files:
            assert files == ("absent" if dataset.missing(data_root()) else "here")


PYG = {
    "Cora": (pyg.Planetoid, "Cora", "", ("Cora",)),
    "CiteSeer": (pyg.Planetoid, "CiteSeer", "", ("CiteSeer",)),
    "Texas": (pyg.WebKB, "WebKB", "WebKB", ("texas",)),
    "Actor": (pyg.Actor, "Actor", "Actor", ()),
    "Chameleon": (pyg.WikipediaNetwork, "Wikipedia", "Wikipedia", ("chameleon",)),
    "minesweeper-public": (
        pyg.HeterophilousGraphDataset,
        "Heterophilous",
        "Heterophilous",
        ("minesweeper",),
    ),
}


def pyg_copy(tmp_path, cls, folder, root, args):
    """PyG's own class on a copy, since it writes next to the raw files."""
    shutil.copytree(data_root() / folder, tmp_path / folder, copy_function=shutil.copyfile)
    for path in (tmp_path / folder, *(tmp_path / folder).rglob("*")):
        path.chmod(0o755)
    return cls(str(tmp_path / root), *args)


@pytest.mark.parametrize("name", PYG)
@pytest.mark.filterwarnings("ignore")  # PyG reads Planetoid's files with deprecated numpy names
def test_node_tasks_are_what_pyg_loads(name, tmp_path):
    need(name)
    options = {"normalise": False} if name in ("Cora", "CiteSeer") else {}
    task = load_task(name, seed=13, **options)
    theirs = pyg_copy(tmp_path, *PYG[name])[0]
    ours = task.x.to_dense() if task.x.layout == torch.sparse_csr else task.x
    assert torch.equal(ours, theirs.x)
    assert torch.equal(task.y, theirs.y)
    edges = set(map(tuple, theirs.edge_index.t().tolist()))
    assert set(map(tuple, task.graph.edge_index.t().tolist())) == edges
    for part in ("train", "val", "test"):
        mask = theirs[f"{part}_mask"]
        mask = mask if mask.dim() == 1 else mask[:, 3]  # seed 13 is public split 3
        assert torch.equal(getattr(task, part), mask.nonzero().flatten())


@pytest.mark.parametrize("name", ["MUTAG", "PTC_MR", "PROTEINS", "IMDB-BINARY", "IMDB-MULTI"])
def test_batches_of_tu_graphs_are_what_pyg_collates(name, tmp_path):
    need(name)
    task = load_task(name)
    theirs = pyg_copy(tmp_path, pyg.TUDataset, name, "", (name,))
    indices = torch.randperm(task.num_graphs)[:32]
    ours = task.batch(indices)
    batch = Batch.from_data_list([_bare(theirs[i]) for i in indices.tolist()])
    assert torch.equal(ours.batch, batch.batch)
    assert torch.equal(ours.y, batch.y)
    order = (batch.edge_index[1] * batch.num_nodes + batch.edge_index[0]).argsort()
    assert torch.equal(ours.graph.edge_index, batch.edge_index[:, order])
    if batch.x is not None:
        assert torch.equal(ours.x, batch.x)


def _bare(data: Data) -> Data:
    return Data(x=data.x, edge_index=data.edge_index, y=data.y, num_nodes=data.num_nodes)


def test_molhiv_has_the_published_split_and_positives():
    need("ogbg-molhiv")
    task = load_task("ogbg-molhiv")
    parts = (task.train, task.val, task.test)
    assert [len(part) for part in parts] == [32_901, 4_113, 4_113]
    assert [int(task.y[part].sum()) for part in parts] == [1_232, 81, 130]
    assert task.graph.is_undirected


def test_arxiv_has_the_published_split():
    need("ogbn-arxiv-topicbag")
    task = load_task("ogbn-arxiv-topicbag")
    assert [len(p) for p in (task.train, task.val, task.test)] == [90_941, 29_799, 48_603]
    assert task.graph.is_undirected
    assert task.classes[0] == "cs na"


@pytest.mark.parametrize("name", ["Texas", "Chameleon", "Actor", "arxiv-2023"])
def test_directed_graphs_come_undirected_when_asked_for(name):
    need(name)
    assert load_task(name, undirected=True).graph.is_undirected
    assert not load_task(name, undirected=False).graph.is_undirected
