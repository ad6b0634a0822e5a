"""A page is a list of sections: titles, texts, tables and plots, as HTML and as Markdown.

Plots are values. plot.js draws them on a page, :func:`write_figures` as PNG, SVG and PDF.
"""

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import date
from importlib.resources import files
from pathlib import Path, PurePath
from typing import Any, Literal

from jinja2 import Environment, PackageLoader, StrictUndefined
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from pgso.report.grid import Grid, markdown_text
from pgso.report.words import OPERATORS

SCRIPTS = ("theme", "plot", "operator", "explorer", "graph", "page")
FORMATS = ("png", "svg", "pdf")
QUIET = "#9ca3af"
STYLE = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "legend.frameon": False,
    "svg.hashsalt": "pgso",  # else the names inside an SVG differ from run to run
    "svg.fonttype": "none",
    "pdf.fonttype": 42,  # journals refuse Type 3 fonts
    "text.parse_math": False,  # a dataset may have a dollar sign in its name
}


@dataclass(frozen=True)
class Axis:
    """A direction of a plot."""

    label: str
    domain: tuple[float, float] | None = None  # None: as far as the points go
    ticks: tuple[tuple[float, str], ...] | None = None
    whole: bool = False  # ticks at whole numbers only


@dataclass(frozen=True)
class Series:
    """One curve, with a band around it."""

    name: str
    colour: str  # an operator, or "quiet"
    points: Sequence[tuple[float, float]]
    band: Sequence[tuple[float, float, float]] | None = None
    dash: str = ""  # lengths, as in SVG
    dots: Literal["", "too", "only"] = ""  # whether points are marked
    quiet: bool = False  # not in the legend


@dataclass(frozen=True)
class Mean:
    """A mean with its interval."""

    x: float
    mean: float
    interval: tuple[float, float] | None
    colour: str


@dataclass(frozen=True)
class Plot:
    """Curves, bands and means on two axes; plot.js reads the same fields."""

    name: str  # of the element on the page
    title: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    means: tuple[Mean, ...] = ()
    marks: tuple[tuple[float, str], ...] = ()  # thin lines: x, colour
    axis: Literal["x", "y"] = "x"  # the direction that is zoomed, and read along
    height: int = 260  # on the page


@dataclass(frozen=True)
class Section:
    """One part of a page; what is empty is not shown."""

    title: str
    text: str = ""  # below the title
    panels: tuple[Grid | Plot, ...] = ()  # a title of their own is shown, unless it is the same
    layout: str = "panels"  # of the panels, see report.css; in a "pair" the first stands alone
    folded: tuple[Grid, ...] = ()  # tables that are shown on request
    code: tuple[tuple[str, str], ...] = ()  # a sentence, and what to type
    links: tuple[tuple[str, str], ...] = ()  # texts and addresses
    widget: str = ""  # what draws ``values`` that are none of these: explorer, graph, bars or html
    values: Any = None
    data: Mapping[str, Any] = field(default_factory=dict)  # for the scripts, beside the plots
    id: str = ""


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
    words: Mapping[str, str] = field(default_factory=dict)  # what they mean: how to read the page
    summary: str = ""  # all numbers, as JSON to be saved

    @property
    def plots(self) -> list[Plot]:
        """All plots, in the order of the page."""
        panels = (panel for section in self.sections for panel in section.panels)
        return [panel for panel in panels if isinstance(panel, Plot)]


def filled(sections: Iterable[Section | None]) -> tuple[Section, ...]:
    """The sections without tables that have no rows, and without those where nothing is left."""
    kept = []
    for section in sections:
        if section is not None:
            panels = tuple(one for one in section.panels if isinstance(one, Plot) or one.rows)
            if panels or section.folded or section.code or section.widget:
                kept.append(replace(section, panels=panels))
    return tuple(kept)


def as_html(page: Page) -> str:
    """The page as one file: everything it needs is inside, it fetches nothing, all is escaped."""
    blocks: Any = {"trim_blocks": True, "lstrip_blocks": True}
    loader = PackageLoader("pgso.report", "assets")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, **blocks)
    environment.filters |= {"download": download, "file_name": file_name}
    environment.tests["plot"] = lambda panel: isinstance(panel, Plot)
    assets = files("pgso.report") / "assets"
    script = "\n".join((assets / f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS)
    data: dict[str, Any] = {}  # all that the scripts draw
    for section in page.sections:
        data |= section.data
    data["plots"] = {plot.name: asdict(plot) for plot in page.plots}
    return environment.get_template("page.html.j2").render(
        page=page,
        style=Markup((assets / "report.css").read_text(encoding="utf-8")),  # noqa: S704  (our own)
        script=Markup(script),  # noqa: S704  (our own files)
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        data_json=embedded(data),
        date=date.today().isoformat(),
    )


def picture_page(heading: str, lead: str, panels: Sequence[Grid], html: str) -> str:
    """A page around tables and a picture in HTML that is already escaped."""
    picture = Section("Picture", widget="html", values=Markup(html))  # noqa: S704
    tables = (Section(grid.title, panels=(grid,)) for grid in panels)
    return as_html(Page(heading, lead, (*tables, picture)))


def as_markdown(page: Page, pictures: Sequence[str] = ()) -> str:
    """The same numbers as text, to be pasted."""
    lines = [f"# {markdown_text(page.heading)}", ""]
    if page.verdict is not None:
        said = ": ".join(filter(None, (page.verdict.text, page.verdict.reason)))
        lines += [f"**{markdown_text(said)}**", ""]
        lines += [f"    {page.verdict.command}", ""] if page.verdict.command else []
        lines += [f"- {markdown_text(note)}" for note in page.verdict.doubts + page.verdict.notes]
        lines.append("")
    for section in page.sections:
        tables = [panel for panel in section.panels if isinstance(panel, Grid)]
        if not (tables or section.folded or section.code):
            continue
        lines += [f"## {markdown_text(section.title)}", ""]
        lines += [markdown_text(section.text), ""] if section.text else []
        lines += [grid.to_markdown() for grid in tables]
        for said_before, code in section.code:
            lines += [markdown_text(said_before), ""]
            lines += [*(f"    {line}" for line in code.splitlines()), ""]
        lines += [grid.to_markdown() for grid in section.folded if len(grid.rows) <= 100]
    lines += [f"![{PurePath(address).stem}]({address})\n" for address in pictures]
    return "\n".join(lines)


def embedded(value: Any) -> Markup:
    """JSON of five digits, null for what is no number, that cannot end its script element."""
    drawable = json.loads(
        json.dumps(value),
        parse_float=lambda text: float(f"{float(text):.5g}"),
        parse_constant=lambda _: None,
    )
    return htmlsafe_json_dumps(drawable, separators=(",", ":"))


def download(content: "Grid | str", kind: str = "text/csv") -> str:
    """Text, or a table as CSV, as an address that a link can save."""
    text = content.to_csv() if isinstance(content, Grid) else content
    return f"data:{kind};charset=utf-8;base64,{base64.b64encode(text.encode()).decode()}"


def file_name(title: str) -> str:
    """A title as the name of a file: ``Test accuracy, %`` is ``test-accuracy``."""
    return "-".join(re.findall(r"[^\W_]+", title.lower())) or "table"


def write_figures(plots: Sequence[Plot], folder: Path) -> list[Path]:
    """Write every plot in three formats, and return the PNG files; equal plots give equal bytes."""
    import matplotlib as mpl

    folder.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context(STYLE):
        for plot in plots:
            figure = draw_figure(plot)
            figure.draw_without_rendering()
            figure.set_layout_engine("none")  # else every format computes the layout again
            for form in FORMATS:
                dateless = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(form)
                figure.savefig(folder / f"{plot.name}.{form}", dpi=160, metadata=dateless)
    return [folder / f"{plot.name}.png" for plot in plots]


def draw_figure(plot: Plot) -> Any:
    """A plot as a figure of matplotlib."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.4, 3.2), layout="constrained")
    axes = figure.subplots()
    for series in plot.series:
        colour = OPERATORS.get(series.colour, QUIET)
        if series.band:
            at, below, above = zip(*series.band, strict=True)
            axes.fill_between(at, below, above, color=colour, alpha=0.15, lw=0)
        x, y = zip(*series.points, strict=True) if series.points else ((), ())
        line: Any = (0, tuple(map(float, series.dash.split()))) if series.dash else "solid"
        line, marker = "none" if series.dots == "only" else line, "o" if series.dots else ""
        label = None if series.quiet else series.name or None
        axes.plot(x, y, color=colour, ls=line, marker=marker, ms=3, lw=1.3, label=label)
    for entry in plot.means:
        low, high = entry.interval or (entry.mean, entry.mean)
        reach, colour = [[entry.mean - low], [high - entry.mean]], OPERATORS[entry.colour]
        axes.errorbar(entry.x, entry.mean, reach, fmt="D", color=colour, capsize=4, ms=6)
    if plot.x.ticks is not None:
        axes.set_xticks(*zip(*plot.x.ticks, strict=True))
    axes.set(xlim=plot.x.domain, xlabel=plot.x.label, ylabel=plot.y.label)
    axes.set_title(plot.title, loc="left")
    if any(series.name and not series.quiet for series in plot.series):
        axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure
