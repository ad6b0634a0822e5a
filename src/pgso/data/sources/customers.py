"""Customers with a known reason to leave: their own columns, their contacts', both, or none."""

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from pgso.data.arrays import Array
from pgso.data.dataset import DATASETS, Dataset, check_choice, check_whole
from pgso.data.edge_lists import merged, without_loops
from pgso.data.splits import split_each_class
from pgso.data.task import Task
from pgso.errors import InputError
from pgso.records.suggestions import TABLE

SIGNALS = ("both", "features", "graph", "neither")
MOST_CUSTOMERS = 1_000_000
LEAVING = 0.127  # the share of customers that leave
LABELLED = 0.3  # of whom it is known whether they leave
CONTACTS = 4  # that a customer calls, on average; as many call them
GAPS = 0.05  # the share of empty cells, where a column has some
CITIES = ("Brest", "Lille", "Lyon", "Nantes", "Nice", "Paris", "Rennes", "Saint-Étienne, Loire")
CONTRACTS = ("monthly", "yearly", "two years")


def load(
    root: Path, seed: int, *, signal: str = "both", strength: float = 2.5, size: int = 2000
) -> Task:
    """Who leaves? A table of numbers, words, dates, yes or no and gaps, and calls with weights.

    A customer's reason to leave is a number: complaints, a monthly contract, a recent start, a low
    income and no newsletter raise it. It is their own with ``signal="features"``, the mean of
    their contacts' with ``"graph"``, the sum of the two with ``"both"``, and random with
    ``"neither"``. ``strength`` is its standard deviation; chance has one of 1.8. The seed cuts each
    class 60/20/20.
    """
    import pandas as pd

    from pgso.data.tables.columns import prepared
    from pgso.data.tables.reader import frame_table

    check_choice("signal", signal, SIGNALS)
    check_whole("size", size, 100, MOST_CUSTOMERS)
    if not 0 <= strength <= 100:
        raise InputError(f"strength must lie between 0 and 100, got {strength!r}")
    rng = np.random.default_rng(seed)
    columns, own_reason = _customers(rng, size)
    # Pairs of customers, some with many more contacts than others, and how often they call.
    popularity = rng.lognormal(0, 0.5, size)
    pairs = rng.choice(size, size=(2, CONTACTS * size), p=popularity / popularity.sum())
    pairs = np.unique(np.sort(without_loops(pairs), axis=0), axis=1)
    times = 1.0 + np.asarray(rng.poisson(2, pairs.shape[1]))
    edge_index, calls, _ = merged(pairs, times, size, True, Path("customers"))
    assert calls is not None
    source, target = edge_index
    heard: Array = np.bincount(target, weights=calls * own_reason[source], minlength=size)
    heard = heard / np.maximum(np.bincount(target, weights=calls, minlength=size), 1)
    reason = {
        "features": _standardised(own_reason),
        "graph": _standardised(heard),
        "both": _standardised(own_reason) + _standardised(heard),
        "neither": np.zeros(size),
    }[signal]
    chance = rng.logistic(size=size)  # whose standard deviation is 1.8
    leaves = strength * reason + chance > np.quantile(strength * reason + chance, 1 - LEAVING)
    y = leaves.astype(np.int64)
    y[rng.permutation(size)[round(LABELLED * size) :]] = -1
    split, table = split_each_class(y, seed), frame_table(pd.DataFrame(columns), Path("customers"))
    given: dict[str, Any] = {"edge_index": edge_index, "edge_weight": calls, "y": y, "split": split}
    given |= prepared(table, split[0], {})
    return Task.from_arrays("customers", classes=("stays", "leaves"), metric="roc_auc", **given)


def _customers(rng: np.random.Generator, n: int) -> tuple[dict[str, list[str]], Array]:
    """The cells of each customer by column, and the reason that is in them."""
    income = rng.lognormal(10.3, 0.5, n)
    age = rng.integers(18, 80, n)
    days = rng.integers(0, 3000, n)
    complaints = rng.poisson(0.8, n)
    contract = rng.integers(0, 3, n)
    newsletter = rng.random(n) < 0.6
    spent, visits, rating = rng.gamma(2, 40, n), rng.poisson(5, n), rng.integers(1, 6, n)
    city, app = rng.integers(0, len(CITIES), n), rng.random(n) < 0.5
    reason = (
        _standardised(complaints)
        + _standardised(contract == 0)
        + _standardised(days)
        - _standardised(np.log(income))
        - _standardised(newsletter)
    )
    first = date(2016, 1, 1)
    columns: dict[str, list[str]] = {
        "customer_id": [str(100_000 + i) for i in range(n)],
        "income": [f"{value:.2f}" for value in income],
        "age": list(map(str, age)),
        "since": [(first + timedelta(days=int(day))).isoformat() for day in days],
        "complaints": list(map(str, complaints)),
        "contract": [CONTRACTS[k] for k in contract],
        "newsletter": ["yes" if value else "no" for value in newsletter],
        "spent": [f"{value:.2f}" for value in spent],
        "visits": [str(value) for value in visits],
        "rating": [str(value) for value in rating],
        "city": [CITIES[k] for k in city],
        "app": ["true" if value else "false" for value in app],
    }
    for name in ("income", "rating", "city", "newsletter"):
        for i in np.flatnonzero(rng.random(n) < GAPS):
            columns[name][i] = ""
    return columns, reason


def _standardised(values: Array) -> Array:
    centred = np.asarray(values - values.mean(), dtype=float)
    return centred / max(float(centred.std()), 1e-12)


DATASETS.add(Dataset(name="customers", load=load, metric="roc_auc", model=TABLE))
