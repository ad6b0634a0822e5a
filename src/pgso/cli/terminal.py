"""What commands print: names that cannot harm a terminal, progress, and how data were read."""

import time
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from typing import TYPE_CHECKING, Any

from rich.console import Console as RichConsole
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from pgso.report.grid import Grid

if TYPE_CHECKING:
    from pgso.data import Task

# Control characters, marks that turn the direction of text, and halves of characters that a name
# which is not UTF-8 is made of.
HIDDEN = ("Cc", "Cf", "Cs")


class Console(RichConsole):
    """Rich's console; names of files and folders cannot move its cursor or change its colours."""

    def render_str(self, text: str, **options: Any) -> Text:
        """What rich makes of every text that is printed, alone or in a table."""
        return super().render_str(visible(text), **{**options, "markup": False, "highlight": False})

    def say(self, sentence: str, style: str | None = None) -> None:
        """Print a sentence as one line, which the terminal wraps: it can be copied whole."""
        self.print(sentence, soft_wrap=True, style=style)


def visible(text: str, keep: str = "\n\t") -> str:
    """The text with its control characters written out."""
    return "".join(
        letter
        if letter in keep or unicodedata.category(letter) not in HIDDEN
        else letter.encode("unicode_escape").decode("ascii")
        for letter in text
    )


LINE_EVERY = 10.0  # seconds


@contextmanager
def progress(console: RichConsole, what: str, total: int, unit: str = "runs") -> Iterator[Any]:
    """Give a function to call after each run or epoch, with a text and how many there were."""
    if console.is_terminal:
        columns = (TextColumn("{task.description}", markup=False), BarColumn())
        more = (MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, *more, console=console, transient=True) as bar:
            task = bar.add_task(visible(what), total=total)
            yield lambda text, steps=1: bar.update(
                task, advance=steps, description=visible(f"{what}: {text}")
            )
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


def show_data(console: Console, task: "Task") -> None:
    """Print how a user's data were read, and what to be careful with on these labels."""
    if task.ids is not None:
        console.say(about_edges(task), "dim")
    for note in task.notes:
        console.say(note, "dim")
    if task.kind != "link":
        advice = task.objective.advice(task.y[task.train].numpy(force=True), task.classes)
        if advice:
            console.say(f"Note: {advice}.")
    if task.preparation is None or not task.preparation.columns:
        return
    columns, rows = task.preparation.columns, []
    for _, group in groupby(columns, key=lambda column: (column.kind, column.has_missing)):
        alike = list(group)
        shown = SHOWN if len(alike) > 2 * SHOWN else len(alike)
        rows += [(column.name, column.kind, column.became) for column in alike[:shown]]
        if shown < len(alike):
            rows.append((f"... {len(alike) - shown} more", alike[-1].kind, "likewise"))
    console.print(Grid("Columns of the table", ("column", "is a", "became"), tuple(rows)))
    console.say(
        f"features.csv: {len(columns)} columns became {task.num_features} features, fitted on the "
        "training rows; columns.json overrules this",
        "dim",
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
