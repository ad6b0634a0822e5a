"""What became of the columns of a user's table, for people to check."""

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from pgso.cli.terminal import Console

if TYPE_CHECKING:
    from pgso.data import Task
    from pgso.data.tables.columns import Column

SHOWN = 3  # of more columns in a row that became the same, the first ones are


def show_columns(console: Console, task: "Task") -> None:
    """Print how edges were read, then a table: column, kind, what became of it.

    Nothing for data that are not the user's own.
    """
    from rich.table import Table

    if task.ids is not None:
        console.print(about_edges(task), soft_wrap=True, style="dim")
    for note in task.notes:
        console.print(note, soft_wrap=True, style="dim", markup=False)
    if task.preparation is None or not task.preparation.columns:
        return
    table = Table("column", "is a", "became", box=None, title_justify="left")
    for cells in _rows(task.preparation.columns):
        table.add_row(*cells)
    console.print(table)
    console.print(
        f"features.csv: {len(task.preparation.columns)} columns became {task.num_features} "
        "features, fitted on the training rows; columns.json overrules this",
        soft_wrap=True,
        style="dim",
    )


def about_edges(task: "Task") -> str:
    """How many nodes and edges there are, and whether an edge goes both ways."""
    nodes, edges = f"{task.num_nodes:,} nodes", task.num_edges
    if task.num_graphs > 1:
        nodes = f"{task.num_graphs:,} graphs, {nodes}"
    if not task.graph.is_undirected:
        return f"{task.name}: {nodes}, {edges:,} directed edges, each from source to target"
    source, target = task.graph.edge_index
    pairs = int((source <= target).sum())
    return (
        f"{task.name}: {nodes}, {pairs:,} undirected edges, each of which goes both ways; "
        "--option undirected=false keeps directions"
    )


def _rows(columns: "tuple[Column, ...]") -> Iterator[tuple[str, str, str]]:
    for _, group in groupby(columns, key=lambda column: (column.kind, column.has_missing)):
        alike = list(group)
        for column in alike[: SHOWN if len(alike) > 2 * SHOWN else None]:
            yield column.name, column.kind, column.became
        if len(alike) > 2 * SHOWN:
            yield f"... {len(alike) - SHOWN} more", alike[-1].kind, "likewise"
