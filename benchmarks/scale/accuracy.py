"""Sampled against full-batch training: the same network, test accuracy at the best epoch."""

from statistics import mean

from benchmarks.measure import Row
from pgso.data import DATASETS
from pgso.data.places import data_root
from pgso.records import RunSpec
from pgso.training.fit import fit

SEEDS = 2
NETWORK = {"hidden_channels": 64, "norm": "batch", "dropout": 0.3, "weight_decay": 0.0}
FULL = {"epochs": 250, "lr_step": 200}
SAMPLED = {"epochs": 25, "lr_step": 20, "sample": (15, 10), "batch_size": 4096}


def run() -> Row:
    """The mean of a few seeds on ogbn-arxiv, or on what has its graph."""
    names = ("ogbn-arxiv", "ogbn-arxiv-topicbag", "sbm")
    name = next(name for name in names if not DATASETS[name].missing(data_root()))
    scores: dict[str, list[float]] = {}
    for how, choices in (("full batch", FULL), ("sampled", SAMPLED)):
        specs = [RunSpec(dataset=name, seed=seed, **NETWORK, **choices) for seed in range(SEEDS)]
        scores[how] = [100 * (fit(spec).test or 0.0) for spec in specs]
    difference = mean(scores["sampled"]) - mean(scores["full batch"])
    return {"dataset": name, "test accuracy": scores, "difference in points": difference}
