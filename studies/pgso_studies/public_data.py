"""Public graphs that the studies use: BlogCatalog, Wikipedia, US counties, arxiv-2023."""

import csv
import json
from numbers import Integral
from pathlib import Path

import numpy as np

from pgso.data.arrays import Array, check_finite, check_range, identity
from pgso.data.dataset import DATASETS, Dataset, Sizes, check_choice
from pgso.data.edge_lists import both_directions, distinct, without_loops
from pgso.data.raw import read_archive, read_lines, read_numbers
from pgso.data.splits import split_at_random
from pgso.data.task import Task
from pgso.errors import InputError

# BlogCatalog: bloggers, their friends, and the groups that they are in (Tang & Liu 2009).

BLOGCATALOG_FOLDER = "blogcatalog"
BLOGCATALOG_FILES = tuple(
    f"{BLOGCATALOG_FOLDER}/{part}.csv" for part in ("edges", "group-edges", "groups", "nodes")
)
BLOGCATALOG_SIZES = Sizes(1, 10_312, 667_966, 10_312, 39)


def load_blogcatalog(root: Path, seed: int) -> Task:
    """Several groups a blogger, multi-label; without features, each node is its own.

    Args:
        root: The data root.
        seed: Of the split, 60/20/20.
    """
    edges, member, groups, nodes = (root / file for file in BLOGCATALOG_FILES)
    n, labels = len(read_numbers(nodes, np.int64, 1)), len(read_numbers(groups, np.int64, 1))
    pairs = read_numbers(edges, np.int64, columns=2).T - 1
    check_range(pairs, 0, n, f"{edges}: a blogger (counted from 0)")
    who, what = read_numbers(member, np.int64, columns=2).T - 1
    check_range(who, 0, n, f"{member}: a blogger (counted from 0)")
    check_range(what, 0, labels, f"{member}: a group (counted from 0)")
    y = np.zeros((n, labels))
    y[who, what] = 1
    task = Task.from_arrays(
        "BlogCatalog",
        edge_index=both_directions(pairs, n),
        x=identity(n),
        y=y,
        split=split_at_random(np.ones(n, dtype=bool), seed),
        classes=tuple(str(label + 1) for label in range(labels)),
        metric="multilabel_average_precision",
    )
    return BLOGCATALOG_SIZES.checked(task, root / BLOGCATALOG_FOLDER)


DATASETS.add(
    Dataset(
        name="BlogCatalog",
        load=load_blogcatalog,
        metric="multilabel_average_precision",
        sizes=BLOGCATALOG_SIZES,
        files=BLOGCATALOG_FILES,
        model={"norm": "batch", "weight_decay": 0.0},  # else embeddings of single nodes vanish
    )
)


# Visits of Wikipedia articles about chameleons (MUSAE, Rozemberczki et al. 2021).

WIKIPEDIA_TRAFFIC_FOLDER = "musae_chameleon"
WIKIPEDIA_TRAFFIC_FILES = tuple(
    f"{WIKIPEDIA_TRAFFIC_FOLDER}/chameleon_{part}"
    for part in ("edges.csv", "features.json", "target.csv")
)
WIKIPEDIA_TRAFFIC_SIZES = Sizes(1, 2_277, 62_742, 3_132, 0)


def load_wikipedia_traffic(
    root: Path, seed: int, *, undirected: bool = True, log: bool = True
) -> Task:
    """How many visits an article has each month, from its nouns and from what it links to.

    The classes of Chameleon are bins of these visits, which is why they are no features here.

    Args:
        root: The data root.
        seed: Of the split, 60/20/20.
        undirected: Whether a link goes both ways.
        log: Whether the target is the natural logarithm of the visits.
    """
    edges, words, target = (root / file for file in WIKIPEDIA_TRAFFIC_FILES)
    visits = read_numbers(target, np.int64, columns=2, header=True)
    n = len(visits)
    if not np.array_equal(visits[:, 0], np.arange(n)):
        raise InputError(f"{target} must number the articles from 0, in order; fetch it again")
    links = read_numbers(edges, np.int64, columns=2, header=True).T
    check_range(links, 0, n, f"{edges}: an article")
    links = without_loops(links)
    y = visits[:, 1:].astype(np.float64)
    task = Task.from_arrays(
        "Wikipedia-traffic",
        edge_index=both_directions(links, n) if undirected else distinct(links, n),
        x=_words(words, n),
        y=np.log(y) if log else y,
        split=split_at_random(np.ones(n, dtype=bool), seed),
        targets=("log visits" if log else "visits",),
        metric="r2",
    )
    if not undirected:
        return task
    return WIKIPEDIA_TRAFFIC_SIZES.checked(task, root / WIKIPEDIA_TRAFFIC_FOLDER)


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
        load=load_wikipedia_traffic,
        metric="r2",
        sizes=WIKIPEDIA_TRAFFIC_SIZES,
        files=WIKIPEDIA_TRAFFIC_FILES,
        model={"norm": "batch", "residual": True},
    )
)


# US counties: seven numbers of each, and who borders on whom (Jia & Benson, KDD 2020).

US_COUNTIES_FOLDER = "us_county"
COLUMNS = {  # file and column of each number; {} is the year
    "election": ("election", "gop_{}"),  # and dem_{}: (gop - dem) / (gop + dem)
    "income": ("income", "MedianIncome{}"),
    "education": ("education", "BachelorRate{}"),
    "unemployment": ("unemployment", "Unemployment_rate_{}"),
    "migration": ("population", "R_NET_MIG_{}"),
    "birth": ("population", "R_birth_{}"),
    "death": ("population", "R_death_{}"),
}
US_COUNTIES_FILES = (
    f"{US_COUNTIES_FOLDER}/adjacency.txt",
    *(
        f"{US_COUNTIES_FOLDER}/{file}.csv"
        for file in dict.fromkeys(file for file, _ in COLUMNS.values())
    ),
)
US_COUNTIES_SIZES = Sizes(1, 3_234, 18_966, 6, 0)


def load_us_counties(root: Path, seed: int, *, target: str = "income", year: int = 2016) -> Task:
    """One number of every county from the six others, and from its neighbours.

    Features have zero mean and unit variance; what is missing is the mean. Counties without the
    target are in no part of the split.

    Args:
        root: The data root.
        seed: Of the split, 60/20/20.
        target: ``"election"``, ``"income"``, ``"education"``, ``"unemployment"``,
            ``"migration"``, ``"birth"`` or ``"death"``.
        year: 2012 or 2016.
    """
    check_choice("target", target, tuple(COLUMNS))
    if not isinstance(year, Integral) or year not in (2012, 2016):
        raise InputError(f"year must be 2012 or 2016, got {year!r}")
    folder = root / US_COUNTIES_FOLDER
    pairs = _borders(folder / "adjacency.txt")
    counties, edge_index = np.unique(pairs, return_inverse=True)
    edge_index = edge_index.reshape(2, -1)
    table = np.stack([_column(folder, name, year, counties) for name in COLUMNS], axis=1)
    wanted = list(COLUMNS).index(target)
    others = np.delete(table, wanted, axis=1)
    sd = np.nanstd(others, axis=0)
    x = (others - np.nanmean(others, axis=0)) / np.where(sd > 0, sd, 1)
    y = table[:, [wanted]]
    task = Task.from_arrays(
        "US-counties",
        edge_index=both_directions(without_loops(edge_index), len(counties)),
        x=np.nan_to_num(x).astype(np.float32),
        y=y,
        split=split_at_random(np.isfinite(y[:, 0]), seed),
        targets=(target,),
        metric="r2",
        ids=tuple(f"{county:05d}" for county in counties),
        columns=tuple(name for name in COLUMNS if name != target),
    )
    return US_COUNTIES_SIZES.checked(task, folder)


def _borders(path: Path) -> Array:  # (2, pairs) of FIPS codes
    pairs, head = [], None
    rows = csv.reader(read_lines(path, "latin-1"), delimiter="\t")
    for line, row in enumerate(rows, start=1):
        try:
            head = int(row[1]) if row[1] else head  # a blank head repeats the last one
            pairs.append((head, int(row[3])))
        except (IndexError, ValueError):
            raise InputError(f"{path}, line {line}: expected four fields, got {row}") from None
    return np.array(pairs, dtype=np.int64).T


def _column(folder: Path, name: str, year: int, counties: Array) -> Array:  # (n,)
    """A number of each county, NaN where there is none."""
    file, column = COLUMNS[name]
    path = folder / f"{file}.csv"
    rows = list(csv.DictReader(read_lines(path)))
    column = column.format(year)
    code = "fips_code" if name == "election" else "FIPS"
    if not rows or column not in rows[0] or code not in rows[0]:
        raise InputError(f"{path} needs the columns {code} and {column}; fetch it again")
    values = {int(row[code]): _value(row, name, column) for row in rows if row[code]}
    return np.array([values.get(int(county), np.nan) for county in counties])


def _value(row: dict[str, str], name: str, column: str) -> float:
    if name != "election":
        return _number(row[column])
    gop, dem = _number(row[column]), _number(row[column.replace("gop", "dem")])
    return (gop - dem) / (gop + dem) if gop + dem > 0 else np.nan


def _number(text: str) -> float:
    """A number with thousands separators; NaN where there is none."""
    try:
        return float(text.replace(",", "").strip())
    except ValueError:
        return np.nan


DATASETS.add(
    Dataset(
        name="US-counties",
        load=load_us_counties,
        metric="r2",
        sizes=US_COUNTIES_SIZES,
        files=US_COUNTIES_FILES,
        model={"norm": "batch", "residual": True, "dropout": 0.1},
    )
)


# arxiv-2023: citations of recent computer-science papers, with features from their titles.

FOLDER = "arxiv_2023"
LISTED = Sizes(1, 33_868, 305_672, 128, 39)  # citations as the file lists them
FILES = ("edges.csv.gz", "title_svd128.npz", "train.csv.gz", "valid.csv.gz", "test.csv.gz")


def load_arxiv_2023(root: Path, seed: int, *, undirected: bool = True) -> Task:
    """The graph with its public time split (no seed), columns of x standardised.

    Papers of 2021 to 2023 outside the test set are in no part. 17 papers cite themselves.

    Args:
        root: The data root.
        seed: Not used.
        undirected: Whether every citation gets its reverse, as for ogbn-arxiv.
    """
    folder = root / FOLDER
    raw = read_archive(
        folder / "title_svd128.npz", {"x": 2, "y": 1, "classes": 1}, words=("classes",)
    )
    x = raw["x"].astype(np.float32)
    check_finite(x, f"{folder / 'title_svd128.npz'}: features")
    citations = read_numbers(folder / "edges.csv.gz", np.int64, 2, header=True).T
    check_range(citations, 0, len(x), f"{folder / 'edges.csv.gz'}: a node")
    train, val, test = (
        read_numbers(folder / f"{part}.csv.gz", np.int64, 1, header=True).ravel()
        for part in ("train", "valid", "test")
    )
    task = Task.from_arrays(
        "arxiv-2023",
        edge_index=distinct(citations, len(x)),
        x=(x - x.mean(0)) / (x.std(0) + 1e-8),
        y=raw["y"],
        split=(train, val, test),
        classes=tuple(str(name) for name in raw["classes"]),
    )
    task = LISTED.checked(task, folder)
    return task.with_edges(both_directions(citations, len(x))) if undirected else task


DATASETS.add(
    Dataset(
        name="arxiv-2023",
        load=load_arxiv_2023,
        sizes=Sizes(1, 33_868, 606_775, 128, 39),
        files=tuple(f"{FOLDER}/{file}" for file in FILES),
    )
)
