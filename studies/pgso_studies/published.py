"""Tables 3 and 4 as printed, to stand beside our own numbers: never to fill one in."""

from typing import NamedTuple


class Printed(NamedTuple):
    """A printed result: mean and standard deviation."""

    mean: float
    sd: float


_ROWS = [
    ("gcn", "fixed"), ("sgc", "fixed"), ("gat", "fixed"), ("gin", "fixed"),
    ("gcn", "pgso"), ("gcn", "mpgso"), ("sgc", "pgso"), ("sgc", "mpgso"),
    ("gat", "pgso"), ("gat", "mpgso"), ("gin", "pgso"), ("gin", "mpgso"),
]  # fmt: skip

_COLUMNS = {
    "Cora": "81.4 0.4 81.0 0.1 83.0 0.7 77.6 1.5 82.0 0.1 82.6 0.2 81.4 0.2 81.6 0.3 84.3 0.4 83.8 0.5 77.8 0.8 78.1 1.3",
    "CiteSeer": "70.9 0.5 71.9 0.2 72.5 0.6 69.6 0.9 71.5 0.4 71.6 0.3 73.1 0.5 72.8 0.2 73.0 0.3 72.9 0.4 69.9 0.8 70.2 1.5",
    "ogbn-arxiv": "71.74 0.29 70.91 0.31 71.82 0.22 71.49 0.27 72.66 0.32 72.12 0.31 70.99 0.28 71.12 0.27 72.15 0.18 72.21 0.17 71.68 0.22 71.72 0.28",
    "MUTAG": "85.8 3.1 84.4 1.7 86.1 2.3 89.4 5.6 90.7 3.5 90.2 2.8 88.9 1.8 86.1 3.1 87.2 3.9 86.8 4.3 91.9 3.1 90.8 3.2",
    "PTC_MR": "64.3 2.1 64.1 1.2 63.8 1.5 64.4 1.9 67.1 2.2 69.0 1.9 68.1 1.5 67.6 1.3 64.2 0.7 64.4 1.1 66.1 2.1 64.7 2.2",
    "IMDB-BINARY": "71.4 2.4 71.6 1.4 70.8 1.5 75.1 5.1 72.7 3.2 72.4 1.8 73.2 3.5 73.4 1.3 71.2 0.7 70.4 1.1 76.4 2.8 77.1 3.2",
    "IMDB-MULTI": "50.3 1.8 50.9 2.0 50.1 1.1 52.3 2.8 51.0 1.5 50.8 1.2 51.9 1.4 51.5 1.2 50.6 0.7 50.1 1.3 53.3 2.1 53.8 2.7",
    "ogbg-molhiv": "76.06 0.97 75.72 0.87 74.12 0.99 75.58 1.41 76.75 1.12 76.21 1.01 75.77 0.65 75.81 0.72 75.43 0.91 74.23 1.11 76.32 1.37 76.22 1.65",
}  # fmt: skip


def _cells(numbers: str) -> list[Printed]:
    values = [float(number) for number in numbers.split()]
    return [Printed(mean, sd) for mean, sd in zip(values[::2], values[1::2], strict=True)]


# (dataset, conv, operator) -> what Tables 3 and 4 print
PUBLISHED: dict[tuple[str, str, str], Printed] = {
    (dataset, conv, operator): cell
    for dataset, numbers in _COLUMNS.items()
    for (conv, operator), cell in zip(_ROWS, _cells(numbers), strict=True)
}

# S after 150 epochs on Cora from each start, read off Figure 3 by eye to within 0.03. There the
# Laplacians look as if they held the identity in m1 D^0. Table 1 and our runs have it in m3, so m1
# and m3 of these rows are not the same.
ENDS_ON_CORA: dict[str, tuple[float, float, float, float, float, float, float]] = {
    #                         m1    m2     m3    e1    e2     e3     a
    "gcn":                   (0.55, 1.60, 0.53, 0.30, -0.20, -0.20, 1.57),
    "zeros":                 (0.79, 0.52, 0.79, 0.33, 0.15, 0.16, 0.85),
    "random_walk_laplacian": (1.57, -1.47, 0.55, 0.30, -0.72, 0.20, -0.53),
    "symmetric_laplacian":   (1.52, -1.53, 0.52, 0.25, -0.22, -0.22, -0.59),
    "adjacency":             (0.66, 1.33, 0.64, 0.35, 0.05, 0.06, 0.70),
}  # fmt: skip
