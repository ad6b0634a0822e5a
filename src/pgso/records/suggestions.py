"""What suits a dataset: its own suggestions, what suits tables, and strong networks, as data."""

from collections.abc import Mapping
from typing import Any

# For tables: each column is a feature of its own, and few of them say something. A node keeps its
# own columns beside what it hears (residual), and one layer of a large rate is a regression that
# is trained to its end; see benchmarks/finding/signals.py.
TABLE: Mapping[str, Any] = {
    "num_layers": 1,
    "residual": True,
    "dropout": 0.0,
    "lr": 0.1,
    "exponent_lr": 0.05,
    "weight_decay": 0.01,
    "s_decay": "none",
}
# S keeps the paper's rates: at a rate of 0.1 it ran away on tables, RMSE 9.9 instead of 3.1.
OWN_TABLE: Mapping[str, Any] = {**TABLE, "s_rate": 0.1}
PROPOSES = ("gcn", "sgc", "gin", "gat")  # convs that leave the operator open for what find keeps
MOST_COLUMNS = 64  # of a table; more are taken for words of texts


# Strong networks: settings under which a plain GNN was published as hard to beat.
# Source: Luo, Shi, Wu: Classic GNNs are Strong Baselines, NeurIPS 2024; the GCN rows of
# medium_graph/run_gnn.sh in github.com/LUOyk1999/tunedGNN.
# Cora, CiteSeer and PubMed were split at random there; Chameleon and Squirrel were the filtered
# ones, whose settings serve the others too; roman-empire had a linear map before its first layer.
# Dropout follows every layer and not the input; classes are read off the last layer by a linear
# map; the rate stays.
SHARED: dict[str, Any] = {"input_dropout": 0.0, "jk": "last", "lr_decay": 1.0}
# fmt: off
_COLUMNS = ("num_layers", "hidden_channels", "norm", "residual", "dropout", "lr", "weight_decay",
            "epochs")
_ROWS: dict[str, tuple[Any, ...]] = {
    #                     layers width norm     res    drop  lr     decay  epochs
    "minesweeper":        (12,   64, "batch",  True,  0.2, 0.01,  0.0,   2000),
    "minesweeper-public": (12,   64, "batch",  True,  0.2, 0.01,  0.0,   2000),
    "amazon-ratings":     (4,   512, "batch",  True,  0.5, 0.001, 0.0,   2500),
    "roman-empire":       (9,   512, "batch",  True,  0.5, 0.001, 0.0,   2500),
    "cora":               (3,   512, None,     False, 0.7, 0.001, 5e-4,  500),
    "citeseer":           (2,   512, None,     False, 0.5, 0.001, 0.01,  500),
    "pubmed":             (2,   256, None,     False, 0.7, 0.005, 5e-4,  500),
    "computers":          (3,   512, "layer",  False, 0.5, 0.001, 5e-5,  1000),
    "photo":              (6,   256, "layer",  True,  0.5, 0.001, 5e-5,  1000),
    "squirrel-filtered":  (4,   256, "batch",  True,  0.7, 0.01,  5e-4,  500),
    "squirrel":           (4,   256, "batch",  True,  0.7, 0.01,  5e-4,  500),
    "chameleon-filtered": (5,   512, None,     False, 0.2, 0.005, 0.001, 200),
    "chameleon":          (5,   512, None,     False, 0.2, 0.005, 0.001, 200),
}
# fmt: on
STRONG: dict[str, dict[str, Any]] = {
    name: {**SHARED, **dict(zip(_COLUMNS, row, strict=True))} for name, row in _ROWS.items()
}
MOST_LAYERS = 12


def strong(dataset: str, suggested: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a strong network: as published, or :func:`deeper` than what is suggested."""
    usual = deeper(suggested.get("num_layers", 2), suggested.get("norm"))
    return dict(STRONG.get(dataset.lower(), usual))


def deeper(num_layers: int, norm: str | None) -> dict[str, Any]:
    """Twice as many layers, with residual maps and a norm between them."""
    depth = max(num_layers, min(2 * num_layers, MOST_LAYERS))
    return {"num_layers": depth, "norm": norm or "batch", "residual": True}
