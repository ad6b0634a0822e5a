"""A table as words in rows, shown alike in the terminal, in markdown and on the page."""

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from rich import box
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
    links: Mapping[str, str] = field(default_factory=dict)  # cells of the page that lead somewhere
    id: str = ""  # of the element on the page

    def first(self, count: int) -> "Grid":
        """The same table with so many rows at most."""
        return replace(self, rows=self.rows[:count])

    def to_rich(self) -> Table:
        """For the terminal; names of the user's own are never taken for markup."""
        shown = Table(
            title=Text(self.title, style="bold"),
            caption=Text(self.caption) if self.caption else None,
            box=box.SIMPLE_HEAD,
            title_justify="left",
            caption_justify="left",
            padding=(0, 1, 0, 0),
            pad_edge=False,
        )
        for column, name in enumerate(self.header):
            words = [word for row in (self.header, *self.rows) for word in row[column].split()]
            shown.add_column(
                Text(name),
                justify="right" if column else "left",
                min_width=max(map(len, words), default=0),  # names may wrap, but are not cut
            )
        for row in self.rows:
            shown.add_row(*(Text(cell) for cell in row))
        return shown

    def to_csv(self) -> str:
        r"""For spreadsheets; a cell that they would take for a formula is quoted as text.

        Example:
            >>> print(Grid("t", ("name", "value"), (("=1+1", "-2.5"),)).to_csv())
            name,value
            '=1+1,-2.5
            <BLANKLINE>
        """
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        for row in (self.header, *self.rows):
            writer.writerow([f"'{cell}" if _is_formula(cell) else cell for cell in row])
        return text.getvalue()

    def to_markdown(self) -> str:
        """A GitHub table under its title."""
        header, *rows = ([markdown_text(cell) for cell in row] for row in (self.header, *self.rows))
        lines = [f"### {markdown_text(self.title)}", "", table(header, rows, numbers=True)]
        if self.caption:
            lines += ["", markdown_text(self.caption)]
        return "\n".join(lines) + "\n"


def _is_formula(cell: str) -> bool:
    """Spreadsheets run cells that begin so, also ``-1+...``; numbers with a sign are none."""
    return cell.startswith(("=", "+", "-", "@", "\t", "\r")) and not NUMBERS.fullmatch(cell)


def markdown_text(text: str) -> str:
    r"""Text that stays text in markdown: no tags, no links, no emphasis, no new lines.

    Example:
        >>> print(markdown_text("<b>|x_1|"))
        &lt;b&gt;\|x\_1\|
    """
    one_line = " ".join(text.split()).replace("&", "&amp;")
    tags_off = one_line.replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|#!~])", r"\\\1", tags_off)


def table(header: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: bool = False) -> str:
    """A Markdown table of cells that are Markdown already; every table of a page is made here.

    Args:
        header: The names of the columns.
        rows: Cells, as many as the header has.
        numbers: Whether all columns but the first stand on the right.
    """
    places = "|---" * len(header) + "|"
    if numbers:
        places = " ".join(["| --- |", *["---: |"] * (len(header) - 1)])
    lines = [header, *rows]
    written = [f"| {' | '.join(line)} |" for line in lines]
    return "\n".join([written[0], places, *written[1:]])
