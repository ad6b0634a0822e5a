"""Visits of Wikipedia articles about chameleons (MUSAE, Rozemberczki et al. 2021)."""

import json
from pathlib import Path

import numpy as np

from pgso.data.arrays import Array, Arrays, check_range
from pgso.data.dataset import DATASETS, Dataset, Sizes
from pgso.data.edge_lists import both_directions, distinct, without_loops
from pgso.data.splits import split_at_random
from pgso.data.text import read_lines, read_numbers
from pgso.errors import InputError

FOLDER = "musae_chameleon"
FILES = tuple(f"{FOLDER}/chameleon_{part}" for part in ("edges.csv", "features.json", "target.csv"))
SIZES = Sizes(1, 2_277, 62_742, 3_132, 0)


def load(root: Path, seed: int, *, undirected: bool = True, log: bool = True) -> Arrays:
    """How many visits an article has each month, from its nouns and from what it links to.

    The classes of Chameleon are bins of these visits, which is why they are no features here.

    Args:
        root: The data root.
        seed: Of the split, 60/20/20.
        undirected: Whether a link goes both ways.
        log: Whether the target is the natural logarithm of the visits.
    """
    edges, words, target = (root / file for file in FILES)
    visits = read_numbers(target, np.int64, columns=2, header=True)
    n = len(visits)
    if not np.array_equal(visits[:, 0], np.arange(n)):
        raise InputError(f"{target} must number the articles from 0, in order; fetch it again")
    links = read_numbers(edges, np.int64, columns=2, header=True).T
    check_range(links, 0, n, f"{edges}: an article")
    links = without_loops(links)
    y = visits[:, 1:].astype(np.float64)
    arrays = Arrays(
        edge_index=both_directions(links, n) if undirected else distinct(links, n),
        x=_words(words, n),
        y=np.log(y) if log else y,
        split=split_at_random(np.ones(n, dtype=bool), seed),
        targets=("log visits" if log else "visits",),
        metric="r2",
    )
    if undirected:
        SIZES.check(arrays, "Wikipedia-traffic", root / FOLDER)
    return arrays


def _words(path: Path, n: int) -> Array:  # (n, words)
    try:
        nouns = json.loads("\n".join(read_lines(path)))
        rows = [np.array(nouns[str(article)], dtype=np.int64) for article in range(n)]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path} must list the nouns of {n} articles ({error!r})") from None
    columns = np.concatenate(rows)
    check_range(columns, 0, 10**5, f"{path}: a noun")
    x = np.zeros((n, int(columns.max()) + 1), dtype=np.float32)
    x[np.repeat(np.arange(n), [len(row) for row in rows]), columns] = 1
    return x


DATASETS.add(
    Dataset(
        name="Wikipedia-traffic",
        load=load,
        metric="r2",
        sizes=SIZES,
        files=FILES,
        model={"norm": "batch", "residual": True},
    )
)
