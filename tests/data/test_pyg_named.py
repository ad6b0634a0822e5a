"""``pyg:CLASS/NAME``: PyG's datasets by name, safe ones only, from files in GraphLand's format."""

import numpy as np
import pandas as pd
import pytest
import torch
from torch_geometric import datasets

import pgso
from pgso.errors import InputError, UnknownNameError

NODES = 40
pytestmark = [
    pytest.mark.filterwarnings("ignore:n_quantiles"),  # of so small a graph
    pytest.mark.skipif(not hasattr(datasets, "GraphLandDataset"), reason="PyG 2.8 has GraphLand"),
]


@pytest.fixture
def root(tmp_path):
    """The files of ``tolokers-2`` and ``hm-prices``, made small."""
    pytest.importorskip("yaml")
    rng = np.random.default_rng(0)
    targets = {"tolokers-2": rng.integers(2, size=NODES), "hm-prices": rng.normal(size=NODES)}
    for name, target in targets.items():
        folder = tmp_path / "pyg" / "GraphLandDataset" / name / "raw" / name
        folder.mkdir(parents=True)
        kind = "regression" if name == "hm-prices" else "binary_classification"
        (folder / "info.yaml").write_text(
            f"task: {kind}\ntarget_name: answer\nnumerical_features_names: [age, share]\n"
            "fraction_features_names: [share]\ncategorical_features_names: [town]\n"
        )
        table = {"age": rng.normal(size=NODES), "share": rng.random(NODES)}
        table["town"] = rng.integers(3, size=NODES)
        pd.DataFrame(table).to_csv(folder / "features.csv")
        answers = target.astype(float)
        answers[:3] = np.nan
        pd.DataFrame({"answer": answers}).to_csv(folder / "targets.csv")
        part = np.arange(NODES) % 4
        masks = {"train": part < 2, "val": part == 2, "test": part == 3}
        for split in ("RL", "RH"):
            pd.DataFrame(masks).to_csv(folder / f"split_masks_{split}.csv")
        edges = rng.integers(NODES, size=(60, 2))
        pd.DataFrame(edges, columns=["source", "target"]).to_csv(
            folder / "edgelist.csv", index=False
        )
    return tmp_path


def test_a_graph_of_graphland_is_a_task_with_its_splits(root):
    for _ in range(2):  # prepared by PyG, then from its prepared file
        task = pgso.load_task("pyg:GraphLand/tolokers-2", root=root)
        assert (task.kind, task.num_nodes, task.num_classes) == ("node", NODES, 2)
        assert len(task.train) == NODES // 2 - 2  # two of its nodes have no answer
    assert task.num_features == 5  # two numbers, and three towns
    numbers = pgso.load_task("PYG:graphland/hm-prices", root=root, split="RH")
    assert numbers.metric == "rmse"


def test_a_prepared_file_that_holds_a_program_is_not_run(root):
    pgso.load_task("pyg:GraphLand/tolokers-2", root=root)
    (prepared,) = root.rglob("data.pt")
    torch.save((print, None, None), prepared)
    with pytest.raises(InputError, match=r"PyG could not load .*Weights only"):
        pgso.load_task("pyg:GraphLand/tolokers-2", root=root)


def test_offline_nothing_is_downloaded(tmp_path, monkeypatch):
    monkeypatch.setenv("PGSO_OFFLINE", "1")
    with pytest.raises(InputError, match=r"web-fraud needs files in .*, and nothing is downloaded"):
        pgso.load_task("pyg:GraphLand/web-fraud", root=tmp_path)


@pytest.mark.parametrize(
    ("name", "options", "sentence"),
    [
        ("pyg:Planetoid/Cora", {}, "Planetoid reads pickles, which are programs"),
        ("pyg:TUDataset/MUTAG", {}, "TUDataset reads pickles"),
        ("pyg:GraphLand", {}, "GraphLandDataset takes /NAME behind it"),
        ("pyg:KarateClub/x", {}, "KarateClub takes no /NAME"),
        ("pyg:GraphLand/tolokers-2", {"spilt": "RH"}, "no option 'spilt'"),
        ("pyg:GraphLand/nowhere", {}, "Unsupported dataset name: nowhere"),
        ("pyg:Airports", {}, "takes /NAME"),
        ("pyg:StochasticBlockModelDataset", {}, "needs the option block_sizes"),
    ],
)
def test_what_cannot_be_loaded_is_refused_in_a_sentence(name, options, sentence, tmp_path):
    with pytest.raises(InputError, match=sentence):
        pgso.load_task(name, root=tmp_path, **options)


def test_an_unknown_class_has_its_neighbours_named(tmp_path):
    with pytest.raises(UnknownNameError, match="no dataset of PyG is called 'GraphLnd'"):
        pgso.load_task("pyg:GraphLnd/x", root=tmp_path)


def test_find_takes_such_a_name(root):
    assert pgso.find("pyg:GraphLand/tolokers-2", root=root).verdict
