"""Who races, and where: the rivals and the datasets, as plain data without torch.

Every rival is fitted on the training labels, and has one knob that the validation labels choose:
the epoch of a network, the number of trees, a penalty, a rate of propagation. Everything else was
fixed before the first run. A change of a rival moves its revision: its older records are not used.
"""

import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from pgso.records.suggestions import STRONG

HERE = Path(__file__).parent
RESULTS = HERE.parents[1] / "results" / "rivals"
RECORDS = RESULTS / "cells.jsonl"


@dataclass(frozen=True)
class Rival:
    """One way to predict: where its function stands, and what it can be asked."""

    name: str
    label: str
    short: str  # over columns of tables
    home: str  # the function: "module:name" in this package
    knob: str  # what the validation labels choose
    kinds: tuple[str, ...] = ("node", "graph")
    answers: tuple[str, ...] = ("class", "value")
    molecules_only: bool = False
    tuned: bool = False  # runs where settings are published (pgso.records.suggestions)
    cost: int = 1  # cheap ones are run first
    cost_of_words: int = 0  # on top, where the table has a thousand columns
    revision: int = 1

    def call(self) -> Callable[..., Any]:
        """The function that fits and predicts."""
        module, name = self.home.split(":")
        function: Callable[..., Any] = getattr(import_module(f"benchmarks.rivals.{module}"), name)
        return function


@dataclass(frozen=True)
class Dataset:
    """One dataset, as the race uses it."""

    name: str  # of tables and records
    kind: str  # "node" or "graph"
    answer: str  # "class" or "value"
    splits: int  # 1: the published split is the only one
    cost: int  # small ones are run first
    words: bool = False  # whether the table has hundreds or thousands of columns
    smiles: str = ""  # under the data root: the table with a column "smiles", in the task's order
    skipped: tuple[str, ...] = ()  # rivals that would take hours

    @property
    def source(self) -> str:
        """What :func:`pgso.load_task` is given: a registered name, or a folder of the data root."""
        if self.name.startswith("tables/"):
            return str(Path(os.environ["PGSO_DATA"]) / self.name)
        return self.name.removesuffix(RANDOM)

    @property
    def options(self) -> dict[str, str]:
        """What else it is given."""
        return {"split": "random"} if self.name.endswith(RANDOM) else {}


RANDOM = ", random splits"  # of molecules, whose published split is one, by scaffold
NETWORKS = ("gcn", "sage", "gat", "residual_gcn")
NODES = ("node",)

RIVALS = {
    rival.name: rival
    for rival in (
        Rival("majority", "majority or mean", "guess", "tabular:guess", "–", cost=0),
        Rival("linear", "logistic / ridge on the table", "linear", "tabular:linear", "penalty"),
        Rival("forest", "random forest on Morgan fingerprints", "forest", "fingerprints:forest",
              "size of a leaf", kinds=("graph",), molecules_only=True, cost=2),
        Rival("hist_boosting", "HistGradientBoosting on the table", "HistGB",
              "tabular:hist_boosting", "trees", cost=3),
        Rival("lightgbm", "LightGBM, neighbours' mean, max, min", "LightGBM",
              "tabular:lightgbm", "trees", cost=3),
        Rival("catboost_graph", "CatBoost, Pool(graph=...)", "CatBoost",
              "tabular:catboost_graph", "trees", kinds=NODES, cost=2, cost_of_words=6),
        Rival("label_propagation", "label propagation", "LP",
              "propagation:label_propagation", "α", kinds=NODES),
        Rival("correct_and_smooth", "Correct & Smooth on logistic", "C&S",
              "propagation:correct_and_smooth", "α", kinds=NODES, answers=("class",), cost=2),
        Rival("graphany", "GraphAny's five linear heads, equal weights", "GraphAny",
              "propagation:graphany", "–", kinds=NODES),
        Rival("gcn", "GCN (PyG)", "GCN", "networks:gcn", "epoch", cost=3, cost_of_words=2),
        Rival("sage", "GraphSAGE (PyG)", "SAGE", "networks:sage", "epoch", cost=3, cost_of_words=3),
        Rival("gat", "GAT (PyG)", "GAT", "networks:gat", "epoch", cost=4, cost_of_words=2),
        Rival("residual_gcn", "residual GCN (PyG)", "residual GCN",
              "networks:residual_gcn", "epoch", cost=3, cost_of_words=2),
        Rival("tuned_gcn", "GCN with published tuned settings (PyG)", "tuned GCN",
              "networks:tuned_gcn", "epoch", kinds=NODES, answers=("class",), tuned=True, cost=5,
              cost_of_words=2),
        Rival("find_ridge", "find, closed form", "find, ridge", "ours:find_ridge", "rung"),
        Rival("find", "find", "find", "ours:find", "rung, head", cost=2),
    )
}  # fmt: skip
OURS = ("find_ridge", "find")

DATASETS = {
    dataset.name: dataset
    for dataset in (
        Dataset("Cora", "node", "class", 1, 1, words=True),
        Dataset("CiteSeer", "node", "class", 1, 2, words=True),
        Dataset("Texas", "node", "class", 10, 1, words=True),
        Dataset("Wisconsin", "node", "class", 10, 1, words=True),
        Dataset("Chameleon", "node", "class", 10, 4, words=True),
        Dataset("Chameleon-filtered", "node", "class", 10, 3, words=True),
        Dataset("Actor", "node", "class", 10, 5, words=True),
        Dataset("minesweeper-public", "node", "class", 10, 2),
        Dataset("Photo", "node", "class", 10, 6, words=True),
        Dataset("arxiv-2023", "node", "class", 1, 7),
        Dataset("tables/nba", "node", "class", 10, 1),
        Dataset("tables/german", "node", "class", 10, 1),
        Dataset("US-counties", "node", "value", 10, 1),
        Dataset("Wikipedia-traffic", "node", "value", 10, 4, words=True),
        Dataset("MUTAG", "graph", "class", 10, 1),
        Dataset("PTC_MR", "graph", "class", 10, 1),
        Dataset("IMDB-BINARY", "graph", "class", 10, 3),
        Dataset("IMDB-MULTI", "graph", "class", 10, 3),
        Dataset("PROTEINS", "graph", "class", 10, 3),
        Dataset("ESOL", "graph", "value", 1, 2, smiles="molecules/esol.csv"),
        Dataset("FreeSolv", "graph", "value", 1, 2, smiles="molecules/freesolv.csv"),
        Dataset(f"ESOL{RANDOM}", "graph", "value", 10, 3, smiles="molecules/esol.csv"),
        Dataset(f"FreeSolv{RANDOM}", "graph", "value", 10, 3, smiles="molecules/freesolv.csv"),
        Dataset("Lipophilicity", "graph", "value", 1, 4, smiles="molecules/lipophilicity.csv"),
        Dataset("ogbg-molhiv", "graph", "class", 1, 8, smiles="ogbg_molhiv/mapping/mol.csv.gz",
                skipped=NETWORKS),
    )
}  # fmt: skip

# Industrial graphs with tables. Their files are not ours to ship: put them where PyG's class looks
# for them, $PGSO_DATA/pyg/GraphLandDataset, and they race.
GRAPHLAND = {
    "artnet-exp": "class", "artnet-views": "value", "avazu-ctr": "value", "city-reviews": "class",
    "city-roads-L": "value", "city-roads-M": "value", "hm-categories": "class",
    "hm-prices": "value", "pokec-regions": "class", "tolokers-2": "class", "twitch-views": "value",
    "web-fraud": "class", "web-topics": "class", "web-traffic": "value",
}  # fmt: skip


def graphland(root: Path) -> dict[str, Dataset]:
    """The graphs of GraphLand whose files are below a data folder."""
    folder = root / "pyg" / "GraphLandDataset"
    here = {name: answer for name, answer in GRAPHLAND.items() if (folder / name / "raw").is_dir()}
    names = {name: f"pyg:GraphLand/{name}" for name in here}
    return {names[n]: Dataset(names[n], "node", answer, 1, 7) for n, answer in here.items()}


DATASETS |= graphland(Path(os.environ.get("PGSO_DATA", "~/.cache/pgso")).expanduser())


def races(rival: Rival, dataset: Dataset) -> bool:
    """Whether the rival can be asked about the dataset."""
    return (
        dataset.kind in rival.kinds
        and dataset.answer in rival.answers
        and rival.name not in dataset.skipped
        and not (rival.molecules_only and not dataset.smiles)
        and not (rival.tuned and dataset.name.lower() not in STRONG)
    )


def has_heads() -> bool:
    """Whether ``find`` of this revision puts other heads than ridge on top: it says so itself."""
    import pgso

    return "head" in inspect.signature(pgso.find).parameters
