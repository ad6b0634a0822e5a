"""``report.html``: one file to look at, offline; with ``report.md`` and figures beside it."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from pgso.objectives import Objective
from pgso.records import RunRecord
from pgso.records.store import write_atomically
from pgso.report.comparison import STRONGER, Comparison, compare
from pgso.report.grid import Grid, markdown_text
from pgso.report.labels import LABELS
from pgso.report.payload import embedded, learned_runs, payload
from pgso.report.provenance import provenance_grids, python_code
from pgso.report.series import by_operator, curve_band, interval_bands, parameter_bands
from pgso.report.spectra import Spectra
from pgso.report.tables import (
    curves_grid,
    differences_grid,
    learned_grid,
    likeness_grid,
    markdown_tables,
    reference_grid,
    scores_grid,
)

SCRIPTS = ("plot.js", "operator.js", "report.js")


def write_report(
    records: Sequence[RunRecord],
    out_dir: str | Path,
    spectra: Mapping[str, Spectra] | None = None,
    title: str | None = None,
    command: str | None = None,
    reference: Sequence[RunRecord] = (),
    figures: bool = False,
) -> Path:
    """Write ``report.html`` and ``report.md`` from the records of one setting.

    Args:
        records: Runs that differ in operator and seed only.
        out_dir: The folder to write into; it is made if it is not there.
        spectra: Spectral densities and a sub-graph by ``spec.key``, where they are known.
        title: The page's heading; dataset and base architecture unless given.
        command: What the user typed, to be shown as the way to have the same again.
        reference: Runs of a stronger fixed network on the same seeds, if there are any.
        figures: Whether to draw ``figures/`` too, as PNG, SVG and PDF: seconds each.

    Returns:
        The path of ``report.html``.
    """
    folder, known = Path(out_dir), spectra or {}
    comparison = compare(records, reference)
    heading = title or f"{comparison.dataset}, {comparison.conv}"
    drawn: list[Path] = []
    if figures:
        from pgso.report.figures import write_figures  # matplotlib takes its time to be loaded

        drawn = write_figures(records, comparison, folder / "figures", known)
    page = render_page(records, comparison, known, heading, command)
    write_atomically(folder / "report.html", page)
    write_atomically(folder / "report.md", _markdown(records, comparison, heading, command, drawn))
    return folder / "report.html"


def render_page(
    records: Sequence[RunRecord],
    comparison: Comparison,
    spectra: Mapping[str, Spectra],
    heading: str,
    command: str | None = None,
) -> str:
    """The page as text; everything it needs is inside, and it may fetch nothing."""
    environment = Environment(
        loader=PackageLoader("pgso.report", "assets"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    script = "\n".join(_asset(name) for name in SCRIPTS)
    verdict, _, reason = comparison.verdict.partition(": ")
    return environment.get_template("report.html.j2").render(
        heading=heading,
        verdict=verdict,
        reason=reason,
        tone=_tone(verdict),
        comparison=comparison,
        style=Markup(_asset("report.css")),  # noqa: S704  (our own file)
        script=Markup(script),  # noqa: S704  (our own files)
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        data=Markup(embedded(payload(records, comparison, spectra))),  # noqa: S704
        scores=[
            scores_grid(comparison, "test"),
            scores_grid(comparison, "val"),
            reference_grid(comparison),
        ],
        differences=differences_grid(comparison),
        learned=[grid for grid in (learned_grid(records), likeness_grid(records)) if grid.rows],
        curves=_curve_grids(records, comparison.objective),
        trajectories=_trajectory_grids(records),
        has_runs=bool(learned_runs(records)),
        has_intervals=any(run.curves.get("interval") for run in learned_runs(records)),
        has_densities=any(
            entry.get("start") or entry.get("by_epoch") for entry in spectra.values()
        ),
        has_subgraph=any(entry.get("subgraph") for entry in spectra.values()),
        provenance=provenance_grids(records),
        code=python_code(records),
        command=command,
    )


def _curve_grids(records: Sequence[RunRecord], objective: Objective) -> dict[str, Grid]:
    titles = {
        "loss": "Training loss",
        "val": f"Validation {objective.heading}",
        "test": f"Test {objective.heading}",
    }
    found = {}
    for name, title in titles.items():
        scale = 1.0 if name == "loss" else objective.shown(1.0)
        bands = {
            LABELS[operator]: band
            for operator, group in by_operator(records, LABELS).items()
            if (band := curve_band(group, name, scale)) is not None
        }
        if bands:
            found[name] = curves_grid(title, bands)
    return found


def _trajectory_grids(records: Sequence[RunRecord]) -> list[Grid]:
    """S and the certified interval against epochs, one table an operator."""
    grids = []
    groups: dict[str, list[RunRecord]] = by_operator(learned_runs(records), LABELS)
    for operator, group in groups.items():
        # Under auto the seeds may have chosen models with different numbers of operators.
        for layer in range(min(len(run.start) for run in group)):
            bands: dict[str, Any] = dict(parameter_bands(group, layer))
            ends = interval_bands(group, layer)
            if ends is not None:
                bands |= {"interval low": ends[0], "interval high": ends[1]}
            grids.append(curves_grid(f"{LABELS[operator]}, operator {layer + 1}", bands))
    return grids


def _markdown(
    records: Sequence[RunRecord],
    comparison: Comparison,
    heading: str,
    command: str | None,
    figures: Sequence[Path],
) -> str:
    lines = [f"# {markdown_text(heading)}", "", f"**{markdown_text(comparison.verdict)}**", ""]
    lines += [f"- {markdown_text(note)}" for note in comparison.notes]
    lines += ["", markdown_tables(records, comparison)]
    lines += [f"![{path.stem}](figures/{path.name})\n" for path in figures]
    lines += [grid.to_markdown() for grid in provenance_grids(records)]
    lines += ["Again:", ""]
    blocks = [command] if command else []
    for block in [*blocks, python_code(records)]:
        lines += [*(f"    {line}" for line in block.splitlines()), ""]
    return "\n".join(lines)


def _tone(verdict: str) -> str:
    tones = {"learn it": "good", "keep the fixed one": "bad", STRONGER: "bad"}
    return tones.get(verdict, "open")


def _asset(name: str) -> str:
    return files("pgso.report").joinpath("assets", name).read_text(encoding="utf-8")
