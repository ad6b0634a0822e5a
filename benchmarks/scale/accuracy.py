"""Sampled against full-batch training: the same network, test accuracy at the best epoch."""

from concurrent.futures import ProcessPoolExecutor
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from statistics import mean

from benchmarks.measure import Row
from pgso.data import DATASETS
from pgso.data.places import data_root
from pgso.evaluation.statistics import t_interval
from pgso.records import RunRecord, RunSpec, Store
from pgso.training.fit import fit

SEEDS = 3
WORKERS = 2  # of one thread each
NETWORK = {"hidden_channels": 64, "norm": "batch", "dropout": 0.3, "weight_decay": 0.0}
WAYS = {
    "full batch": {"epochs": 200, "lr_step": 150},
    "sampled": {"epochs": 20, "lr_step": 15, "sample": (15, 10), "batch_size": 4096},
}
STORE = Store(Path(__file__).parents[2] / "results" / "scale")


def run() -> Row:
    """Seeds in pairs on ogbn-arxiv, or on what has its graph; runs that have a record are done."""
    with ProcessPoolExecutor(WORKERS, get_context("spawn")) as pool:
        found = list(pool.map(score, *zip(*product(WAYS, range(SEEDS)), strict=True)))
    scores = {how: found[place * SEEDS :][:SEEDS] for place, how in enumerate(WAYS)}
    pairs = zip(scores["sampled"], scores["full batch"], strict=True)
    differences = [sampled - full for sampled, full in pairs]
    return {
        "dataset": dataset(),
        "test_accuracy": scores,
        "difference_in_points": mean(differences),
        "interval_95": t_interval(differences),
    }


def score(how: str, seed: int) -> float:
    """The test accuracy of one run, in per cent."""
    spec = RunSpec(dataset=dataset(), seed=seed, **NETWORK, **WAYS[how])
    record: RunRecord | None = STORE.get(spec)
    if record is None:
        record = fit(spec)
        STORE.put(record)
    return 100 * (record.test or 0.0)


def dataset() -> str:
    """The first of these whose files are here."""
    names = ("ogbn-arxiv", "ogbn-arxiv-topicbag", "sbm")
    return next(name for name in names if not DATASETS[name].missing(data_root()))
