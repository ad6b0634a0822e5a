"""A planted table: customers with words, dates and gaps, whose churn follows their neighbours."""

import numpy as np
import pandas

CITIES = ("Nice", "Lyon", "Paris")


def customers(size=400, new=20, seed=0, numbers=False):
    """Nodes, edges, new nodes, new edges; ``leaves`` (rare) or ``spends`` is what is planted.

    A customer leaves if the mean income of friends is low, and a little by its own. New customers
    are drawn as the others are, and have edges to them.
    """
    rng = np.random.default_rng(seed)
    n = size + new
    names = [f"c{i}" for i in range(n)]
    income = rng.normal(3000, 800, n)
    edges = rng.integers(0, n, (2, 4 * n))
    edges = edges[:, edges[0] != edges[1]]
    friends = np.zeros((n, n), dtype=bool)
    friends[edges[0], edges[1]] = friends[edges[1], edges[0]] = True
    degree = friends.sum(axis=1)
    standard = (income - 3000) / 800
    heard = friends @ standard / np.maximum(degree, 1)
    signal = -2 * heard - 0.4 * standard
    nodes = pandas.DataFrame(
        {
            "customer": names,
            "income": np.where(rng.random(n) < 0.05, np.nan, income.round(2)),
            "city": rng.choice(CITIES, n),
            "since": pandas.Timestamp("2020-01-01")
            + pandas.to_timedelta(rng.integers(0, 1500, n), "D"),
            "shoe": rng.normal(42, 2, n).round(1),
        }
    )
    if numbers:
        nodes["spends"] = (100 + 20 * signal + rng.normal(0, 2, n)).round(3)
    else:
        noisy = signal + rng.normal(0, 0.3, n)
        nodes["leaves"] = np.where(noisy > np.quantile(noisy, 0.75), "yes", "no")
    listed = pandas.DataFrame(
        {"source": np.array(names)[edges[0]], "target": np.array(names)[edges[1]]}
    )
    is_new = listed.isin(set(names[size:])).any(axis=1)
    return nodes[:size], listed[~is_new], nodes[size:], listed[is_new]


def write(folder, nodes, edges):
    """A folder of files, as a user has them."""
    folder.mkdir(parents=True)
    nodes.to_csv(folder / "features.csv", index=False)
    if edges is not None:
        edges.to_csv(folder / "edges.csv", index=False)
    return folder
