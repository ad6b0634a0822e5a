"""What commands print: names that cannot harm a terminal, progress, tables and doubts."""

import os
import sys
import time
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from typing import TYPE_CHECKING, Any, NoReturn

from rich.console import Console as RichConsole
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from pgso.report.grid import Grid

if TYPE_CHECKING:
    from pgso.data import Task
    from pgso.data.tables.columns import Column

# Control characters, marks that turn the direction of text, and halves of characters that a name
# which is not UTF-8 is made of.
HIDDEN = ("Cc", "Cf", "Cs")


class Console(RichConsole):
    """Rich's console; names of files and folders cannot move its cursor or change its colours."""

    def render_str(self, text: str, **options: Any) -> Text:
        """What rich makes of every text that is printed, alone or in a table."""
        return super().render_str(visible(text), **options)

    def on_broken_pipe(self) -> None:
        """End well: ``pgso find karate | head`` has seen enough."""
        end_well()


def end_well() -> NoReturn:
    """End the process where nobody reads on; what is still to be written goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(0)


def visible(text: str, keep: str = "\n\t") -> str:
    r"""The text with its control characters written out.

    Example:
        >>> visible("a\x1b[31mb")
        'a\\x1b[31mb'
    """
    if text.isprintable():
        return text
    return "".join(
        letter
        if letter in keep or unicodedata.category(letter) not in HIDDEN
        else letter.encode("unicode_escape").decode("ascii")
        for letter in text
    )


LINE_EVERY = 10.0  # seconds


@contextmanager
def progress(console: Console, what: str, total: int, unit: str = "runs") -> Iterator[Any]:
    """Give a function to call after each run or epoch, with a text and how many there were."""
    if console.is_terminal:
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
        )
        with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
            task = bar.add_task(visible(what), total=total)

            def move(text: str, steps: int = 1) -> None:
                bar.update(task, advance=steps, description=visible(f"{what}: {text}"))

            yield move
        return
    started = last = time.monotonic()
    done = 0

    def line(text: str, steps: int = 1) -> None:
        nonlocal done, last
        done += steps
        now = time.monotonic()
        if now - last >= LINE_EVERY or done == total:
            last = now
            left = (now - started) / done * (total - done)
            console.print(f"{what}: {done}/{total} {unit}, about {left:.0f} s left ({text})")

    yield line


SHOWN = 3  # of more columns in a row that became the same, the first ones are


def show_columns(console: Console, task: "Task") -> None:
    """Print how edges were read, then a table: column, kind, what became of it.

    Nothing for data that are not the user's own.
    """
    if task.ids is not None:
        console.print(about_edges(task), soft_wrap=True, style="dim")
    for note in task.notes:
        console.print(note, soft_wrap=True, style="dim", markup=False)
    if task.preparation is None or not task.preparation.columns:
        return
    rows = tuple(_rows(task.preparation.columns))
    console.print(Grid("Columns of the table", ("column", "is a", "became"), rows))
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
