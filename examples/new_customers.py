"""Twenty new customers arrive: ``python examples/new_customers.py``.

A model is found in a table of customers and their calls, saved, loaded, and asked about new rows
that have edges to old ones. New rows come without labels, and one of them without edges.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
import pandas

import pgso


def shop(size: int, seed: int = 0) -> tuple[pandas.DataFrame, pandas.DataFrame]:
    """Customers who leave if the friends who call them have low incomes; words, dates and gaps."""
    rng = np.random.default_rng(seed)
    names = np.array([f"customer {i}" for i in range(size)])
    income = rng.normal(3000, 800, size)
    ends = rng.integers(0, size - 1, (2, 5 * size))  # nobody calls the last one
    calls = pandas.DataFrame({"source": names[ends[0]], "target": names[ends[1]]})
    heard = calls["source"].map(dict(zip(names, income, strict=True))).groupby(calls["target"])
    low = heard.mean().reindex(names).fillna(3000).to_numpy() < 2850
    customers = pandas.DataFrame(
        {
            "customer": names,
            "income": np.where(rng.random(size) < 0.03, np.nan, income.round()),
            "city": rng.choice(["Nice", "Lyon", "Paris"], size),
            "since": pandas.Timestamp("2024-01-01") - pandas.to_timedelta(np.arange(size), "D"),
            "leaves": np.where(low, "yes", "no"),
        }
    )
    return customers, calls


def main() -> None:
    """Find, save, load, predict; then look at what came true."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--toy", action="store_true", help="fewer customers")
    size = 300 if parser.parse_args().toy else 1500
    customers, calls = shop(size)
    old, new = customers[:-20], customers[-20:]
    is_new = calls.isin(set(new["customer"])).any(axis=1)
    task = pgso.Task.from_frames(old, calls[~is_new], "leaves", "customer", undirected=False)
    found = pgso.find(task)
    print(found.verdict)
    model = pgso.load(found.save(Path(tempfile.mkdtemp(prefix="shop-")) / "model"))
    table = model.predict(new.drop(columns="leaves"), calls[is_new])
    truth = new["leaves"].to_numpy()
    print(table.assign(came_true=truth).to_string())
    print(f"right: {(table['prediction'] == truth).mean():.0%}")


if __name__ == "__main__":
    main()
