"""A table as words in rows, shown alike in the terminal, in markdown and on the page."""

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

_NUMBER = r"[+-]?\d[\d,]*(\.\d+)?(e[+-]?\d+)?"
# Numbers as tables have them: "-1.5", "+2 %", "-1.5 to 2.0", "-1.5 (-2.0 to 1.0)", "-1 [-2, 1]".
NUMBERS = re.compile(
    rf"{_NUMBER}( ?%)?( to {_NUMBER})?( \({_NUMBER} to {_NUMBER}\)| \[{_NUMBER}, {_NUMBER}\])?"
)


@dataclass(frozen=True)
class Grid:
    """A header, rows of the same width, and a sentence on how to read them."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""
    links: Mapping[str, str] = field(default_factory=dict)  # of first and last cells on a page

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """For the terminal: names wrap between words, and a table that is too wide is a list."""
        if not self.rows:
            return
        columns = list(zip(self.header, *self.rows, strict=True))
        widths = [max(len(line) for cell in c for line in cell.split("\n")) for c in columns]
        words = [max(len(word) for cell in c for word in cell.split() or [""]) for c in columns]
        room = options.max_width - 2 * len(columns) - 1  # without the space between columns
        while sum(widths) > room and widths != words:  # the column with most to spare gives way
            spare = [width - word for width, word in zip(widths, words, strict=True)]
            widths[spare.index(max(spare))] -= 1
        title = Text(self.title, style="bold")
        if sum(widths) > room:
            yield title
            for first, *others in self.rows:
                named = zip(self.header[1:], others, strict=True)
                cells = [f"{name} {cell}".strip() for name, cell in named if cell]
                yield Text(f"{first}: {'; '.join(cells)}".replace("\n", ", "))
            yield Text(f"{self.caption}\n")
            return
        shown = Table(
            title=title, box=box.SIMPLE_HEAD, title_justify="left", padding=(0, 1, 0, 0),
            pad_edge=False,
        )  # fmt: skip
        for column, (name, width) in enumerate(zip(self.header, widths, strict=True)):
            shown.add_column(Text(name), justify="right" if column else "left", width=width)
        for row in self.rows:
            shown.add_row(*map(Text, row))
        yield shown
        yield Text(f"{self.caption}\n" if self.caption else "", style="dim")

    def to_csv(self) -> str:
        """For spreadsheets; a cell that they would take for a formula is quoted as text."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        begins = ("=", "+", "-", "@", "\t", "\r")  # also of numbers with a sign, which are fine
        for row in (self.header, *self.rows):
            run = {cell for cell in row if cell.startswith(begins) and not NUMBERS.fullmatch(cell)}
            writer.writerow([f"'{cell}" if cell in run else cell for cell in row])
        return text.getvalue()

    def to_markdown(self) -> str:
        """A GitHub table under its title."""
        header, *rows = ([markdown_text(cell) for cell in row] for row in (self.header, *self.rows))
        lines = [f"### {markdown_text(self.title)}", "", table(header, rows, numbers=True)]
        if self.caption:
            lines += ["", markdown_text(self.caption)]
        return "\n".join(lines) + "\n"


class Bar(NamedTuple):
    """A row of a picture: a bar or a dot with its interval, in per cent of the picture's width."""

    name: str
    text: str  # its number
    kind: str  # importance, or of a rung: kept, reference, other
    start: float
    end: float  # of the bar; the dot stands here
    low: float
    high: float


def bars(rows: Sequence[tuple[Any, ...]], low: float, high: float) -> list[Bar]:
    """Name, text, kind, start, end, low and high of each on a scale; what is beyond ends there."""
    span = (high - low) or 1.0
    return [Bar(*row[:3], *(100 * min((v - low) / span, 1.0) for v in row[3:])) for row in rows]


def markdown_text(text: str) -> str:
    """Text that stays text in markdown: no tags, no links, no emphasis, no new lines."""
    one_line = " ".join(text.split()).replace("&", "&amp;")
    tags_off = one_line.replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|#!~])", r"\\\1", tags_off)


def table(header: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: bool = False) -> str:
    """A Markdown table of Markdown cells; with ``numbers``, all but the first are on the right."""
    places = "|---" * len(header) + "|"
    if numbers:
        places = " ".join(["| --- |", *["---: |"] * (len(header) - 1)])
    first, *others = (f"| {' | '.join(line)} |" for line in (header, *rows))
    return "\n".join([first, places, *others])
