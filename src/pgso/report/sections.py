"""A page is a list of sections: titles, texts, tables and plots, as HTML and as Markdown."""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date
from importlib.resources import files
from pathlib import PurePath
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from pgso.report.grid import Grid, markdown_text
from pgso.report.plots import Plot
from pgso.report.series import is_number


@dataclass(frozen=True)
class Section:
    """One part of a page; what is empty is not shown."""

    title: str
    text: str = ""  # below the title
    grids: tuple[Grid, ...] = ()  # tables as wide as the page
    panels: tuple[Grid | Plot, ...] = ()  # tables and plots with titles of their own
    layout: str = "panels"  # of the panels, see report.css; in a "pair" the first stands alone
    folded: tuple[Grid, ...] = ()  # tables that are shown on request
    code: tuple[tuple[str, str], ...] = ()  # a sentence, and what to type
    links: tuple[tuple[str, str], ...] = ()  # texts and addresses
    widget: str = ""  # a template for what is none of these, with ``values``
    values: Any = None
    id: str = ""
    count: int | None = None  # beside the title

    @property
    def plots(self) -> tuple[Plot, ...]:
        """The plots among the panels."""
        return tuple(panel for panel in self.panels if isinstance(panel, Plot))

    @property
    def tables(self) -> tuple[Grid, ...]:
        """All tables that are shown without being asked for."""
        return (*self.grids, *(panel for panel in self.panels if isinstance(panel, Grid)))


@dataclass(frozen=True)
class Verdict:
    """What a page says first, why, and whether it is good news."""

    text: str
    reason: str
    tone: str  # good, bad or open
    doubts: tuple[str, ...] = ()  # what speaks against it
    notes: tuple[str, ...] = ()
    command: str = ""  # what to type next


@dataclass(frozen=True)
class Page:
    """Everything that a page shows."""

    heading: str
    lead: str
    sections: tuple[Section, ...]
    verdict: Verdict | None = None
    footer: str = ""
    scripts: tuple[str, ...] = ()  # files of ``assets``
    data: Mapping[str, Any] = field(default_factory=dict)  # for the scripts, beside the plots
    summary: str = ""  # all numbers, as JSON to be saved
    is_wide: bool = False  # whether tables may take more than a reader's width

    @property
    def plots(self) -> list[Plot]:
        """All plots, in the order of the page."""
        return [plot for section in self.sections for plot in section.plots]


def as_html(page: Page) -> str:
    """The page as one file: everything it needs is inside, it fetches nothing, all is escaped."""
    environment = Environment(
        loader=PackageLoader("pgso.report", "assets"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"download": download, "file_name": file_name}
    environment.tests["plot"] = lambda panel: isinstance(panel, Plot)
    script = "\n".join(_asset(name) for name in page.scripts)
    data = dict(page.data) | {"plots": {plot.name: asdict(plot) for plot in page.plots}}
    return environment.get_template("page.html.j2").render(
        page=page,
        style=Markup(_asset("report.css")),  # noqa: S704  (our own file)
        script=Markup(script),  # noqa: S704  (our own files)
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        data_json=Markup(embedded(data)),  # noqa: S704
        date=date.today().isoformat(),
    )


def as_markdown(page: Page, pictures: Sequence[str] = ()) -> str:
    """The same numbers as text, to be pasted."""
    lines = [f"# {markdown_text(page.heading)}", ""]
    if page.verdict is not None:
        said = [page.verdict.text, *([page.verdict.reason] if page.verdict.reason else [])]
        lines += [f"**{markdown_text(': '.join(said))}**", ""]
        lines += [f"    {page.verdict.command}", ""] if page.verdict.command else []
        lines += [f"- {markdown_text(doubt)}" for doubt in page.verdict.doubts]
        lines += [f"- {markdown_text(note)}" for note in page.verdict.notes]
        lines.append("")
    for section in page.sections:
        if not (section.tables or section.folded or section.code):
            continue
        lines += [f"## {markdown_text(section.title)}", ""]
        lines += [markdown_text(section.text), ""] if section.text else []
        lines += [grid.to_markdown() for grid in section.tables]
        for said_before, code in section.code:
            lines += [markdown_text(said_before), ""]
            lines += [*(f"    {line}" for line in code.splitlines()), ""]
        lines += [grid.to_markdown() for grid in section.folded if len(grid.rows) <= 100]
    lines += [f"![{PurePath(address).stem}]({address})\n" for address in pictures]
    return "\n".join(lines)


def embedded(value: Any) -> str:
    r"""JSON that cannot end the script element it stands in, with any strings in it.

    Example:
        >>> embedded({"name": "</script>&"})
        '{"name":"\\u003c/script\\u003e\\u0026"}'
    """
    text = json.dumps(_drawable(value), separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _drawable(value: Any) -> Any:
    """Five significant digits, and null where there is no number to draw."""
    if isinstance(value, Mapping):
        return {str(key): _drawable(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_drawable(entry) for entry in value]
    if isinstance(value, float):
        return float(f"{value:.5g}") if is_number(value) else None
    return value


def download(content: "Grid | str", kind: str = "text/csv") -> str:
    """Text, or a table as CSV, as an address that a link can save."""
    text = content.to_csv() if isinstance(content, Grid) else content
    return f"data:{kind};charset=utf-8;base64,{base64.b64encode(text.encode()).decode()}"


def file_name(title: str) -> str:
    """A title as the name of a file.

    Example:
        >>> file_name("Test accuracy, in %")
        'test-accuracy-in'
    """
    letters = "".join(c if c.isalnum() else " " for c in title.lower())
    return "-".join(letters.split()) or "table"


def _asset(name: str) -> str:
    return files("pgso.report").joinpath("assets", name).read_text(encoding="utf-8")
