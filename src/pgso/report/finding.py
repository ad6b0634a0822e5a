"""``report.html`` of a finding: the ladder, the verdict and what to do, from its record alone."""

from dataclasses import dataclass, replace
from pathlib import Path

from pgso.records.files import write_atomically
from pgso.records.finding import FindingRecord, RungRecord
from pgso.report.about import baselines_grid, data_grids
from pgso.report.doubts import doubts_of_finding
from pgso.report.grid import Grid
from pgso.report.page import data_section, graph_sections
from pgso.report.sections import Page, Section, Verdict, as_html
from pgso.report.tables import probability

LEFT, RIGHT, ROW = 290, 720, 24  # where the plot's axis begins and ends, and a row's height


@dataclass(frozen=True)
class Mark:
    """One rung of the plot, in the picture's coordinates."""

    name: str
    y: float
    x: float
    low: float
    high: float
    kind: str  # kept, reference, other
    text: str  # what is read out


def write_finding(record: FindingRecord, folder: Path) -> Path:
    """Write ``report.html`` into a folder, whole or not at all, and return its path."""
    path = folder / "report.html"
    write_atomically(path, render_finding(record))
    return path


def render_finding(record: FindingRecord) -> str:
    """The page as text; everything it needs is inside, and it may fetch nothing."""
    return as_html(finding_page(record))


def finding_page(record: FindingRecord) -> Page:
    """The verdict, what to do, the ladder, and what they rest on."""
    data = [] if record.data is None else [record.data]
    seconds = f"{' → '.join(record.steps)}; {record.seconds:.1f} seconds"
    against = tuple(doubts_of_finding(record))
    return Page(
        heading=record.dataset,
        lead=LEAD,
        verdict=Verdict(record.best, record.verdict, "good", against, (seconds,), is_name=True),
        sections=(
            _next_steps(record),
            _ladder(record),
            *graph_sections(record.sketch),
            *_operator(record),
            *(
                Section(grid.title, grids=(grid,))
                for grid in (
                    baselines_grid(data, record.objective),
                    rungs_grid(record),
                    predictions_grid(record),
                )
                if grid.rows or grid.caption
            ),
            replace(
                data_section(data_grids(data) or [graph_grid(record)]),
                links=(("finding.json", "finding.json"),),
            ),
        ),
        footer=f"pgso {record.versions.get('pgso', '')}; split {record.seed}",
    )


def _next_steps(record: FindingRecord) -> Section:
    code = [("Train a network with it:", record.code)]
    if record.command:
        code.append(("See whether it pays there, against learned operators:", record.command))
    text = "" if record.command else f"But {CANNOT_CONFIRM}."
    return Section("What to do next", text, code=tuple(code))


def _ladder(record: FindingRecord) -> Section:
    marks, ticks = ladder_marks(record)
    height = ROW * len(marks) + 48
    return Section(
        "The ladder",
        "Loss of every rung, smaller is better. Lines are 95 % intervals of the difference to the "
        "rung that was challenged. Blue is kept, orange is GCN's own.",
        widget="ladder",
        values={"marks": marks, "ticks": ticks, "height": height, "left": LEFT, "right": RIGHT},
    )


def _operator(record: FindingRecord) -> list[Section]:
    """S of the kept rung and its spectrum; nothing without a graph."""
    grid, spectrum = operator_grid(record), spectrum_curve(record)
    if grid is None:
        return []
    drawn = ", and how γ's eigenvalues are distributed on this graph, every edge with its reverse"
    return [
        Section(
            "The operator",
            f"S of the kept rung{drawn if spectrum else ''}.",
            grids=(grid,),
            widget="spectrum" if spectrum else "",
            values=spectrum,
        )
    ]


LEAD = (
    "Which operator does this graph want? Ridge regression in closed form, climbed from the "
    "simplest rung on evidence only."
)
CANNOT_CONFIRM = (
    "a trained network cannot confirm it on this split, which has no validation or no test set; "
    "give some labelled examples these parts"
)


def ladder_marks(record: FindingRecord) -> tuple[list[Mark], list[tuple[float, str]]]:
    """Rungs by loss, the best on top, each with the interval of its gain; and the axis.

    The interval belongs to the difference to the rung that was challenged, so it is drawn around
    the rung's own loss.
    """
    objective = record.objective
    rungs = sorted(record.rungs, key=lambda rung: rung.loss)
    reaches = [_reach(rung) for rung in rungs]
    low = min(rung.loss - reach for rung, reach in zip(rungs, reaches, strict=True))
    high = max(rung.loss for rung in rungs)
    span = (high - low) or 1.0

    def x_of(loss: float) -> float:
        share = min(max((loss - low) / span, 0.0), 1.0)
        return round(LEFT + share * (RIGHT - LEFT), 1)

    marks = []
    for row, (rung, reach) in enumerate(zip(rungs, reaches, strict=True)):
        kind = "kept" if rung.name == record.best else "other"
        if rung.name == record.reference and kind == "other":
            kind = "reference"
        text = f"{rung.name}: loss {rung.loss:.4f}"
        if rung.test is not None:
            text += f", test {objective.written(rung.test)}"
        left, right = x_of(rung.loss - reach), x_of(rung.loss + reach)
        marks.append(
            Mark(rung.name, ROW * (row + 0.5) + 4, x_of(rung.loss), left, right, kind, text)
        )
    ticks = [(x_of(low + span * k / 4), f"{low + span * k / 4:.3f}") for k in range(5)]
    return marks, ticks


def rungs_grid(record: FindingRecord, most: int | None = None) -> Grid:
    """Every rung with its scores and its evidence, the kept one marked by an arrow.

    Args:
        record: The finding.
        most: How many to show: the kept one, those it was climbed by, and the best of the others.
    """
    rows, objective = [], record.objective
    rungs = sorted(record.rungs, key=lambda rung: rung.loss)
    if most is not None:
        wanted = {record.best, record.reference, *record.steps}
        first = {rung.name for rung in rungs[: max(most - len(wanted), 0)]}
        rungs = [rung for rung in rungs if rung.name in wanted | first]
    for rung in rungs:
        scores = [objective.written(value) for value in (rung.loo, rung.val, rung.test)]
        name = f"→ {rung.name}" if rung.name == record.best else rung.name
        row = (name, f"{rung.loss:.4f}", *scores, probability(rung.p))
        rows.append(row if most is not None else (*row, ", ".join(rung.blocks)))
    header: tuple[str, ...] = ("rung", "loss", "leave-one-out", "validation", "test", "chance")
    hidden = len(record.rungs) - len(rungs)
    more = f"; {hidden} more with --all" if hidden else ""
    caption = (
        f"{objective.heading}; loss: of {record.judges:,} labels, none predicted by a fit that saw "
        "it; chance: that one of the challengers looks this much better without being better" + more
    )
    header = header if most is not None else (*header, "blocks")
    return Grid("Every rung" if most is None else "The ladder", header, tuple(rows), caption)


def graph_grid(record: FindingRecord) -> Grid:
    """The graph in numbers."""
    graph = record.graph
    homophily = "-" if graph.adjusted_homophily is None else f"{graph.adjusted_homophily:.2f}"
    rows = (
        ("graphs", f"{graph.num_graphs:,}"),
        ("nodes", f"{graph.num_nodes:,}"),
        ("directed edges", f"{graph.num_edges:,}"),
        ("degree: median, mean, largest", _degrees(record)),
        ("nodes without neighbours", f"{graph.isolated:,}"),
        ("components", f"{graph.components:,}"),
        ("adjusted homophily (training and validation labels)", homophily),
        ("features", f"{graph.num_features:,}"),
        ("training labels", f"{graph.num_labels:,} ({100 * graph.label_share:.1f} %)"),
    )
    return Grid("The graph", ("", "value"), rows)


def operator_grid(record: FindingRecord) -> Grid | None:
    """S of the kept rung; None without a graph."""
    S = record.rung(record.best).S
    if S is None:
        return None
    names = ("m1", "m2", "m3", "e1", "e2", "e3", "a")
    return Grid("S", ("", *names), (("S", *(f"{value:.4g}" for value in S)),))


def predictions_grid(record: FindingRecord) -> Grid:
    """Some predictions of the kept rung, beside the truth where it is known."""
    rows: list[tuple[str, ...]] = []
    for one in record.predictions:
        truth = one.truth or ("",) * len(one.predicted)
        if one.probability is None:
            pairs = zip(one.predicted, truth, strict=True)
            rows.append((one.item, *(cell for pair in pairs for cell in pair)))
        else:
            right = "" if not one.truth else "yes" if one.truth == one.predicted else "no"
            rows.append((one.item, *one.predicted, f"{one.probability:.2f}", *truth, right))
    if any(one.probability is not None for one in record.predictions):
        header: tuple[str, ...] = ("item", "prediction", "probability", "truth", "right")
    else:
        count = len(record.predictions[0].predicted) if record.predictions else 1
        names = record.targets or tuple(f"target {k}" for k in range(count))
        header = ("item", *(cell for name in names for cell in (name, f"{name}, truth")))
    what = "Some of the test set, or of what has no label, in their order; all: found.predict()"
    return Grid("Predictions", header, tuple(rows), what if rows else "Every item has a label.")


@dataclass(frozen=True)
class Curve:
    """The density of eigenvalues, in the picture's coordinates."""

    path: str
    ticks: list[tuple[float, str]]
    text: str  # what is read out


def spectrum_curve(record: FindingRecord) -> Curve | None:
    """The spectrum of the kept operator, 420 x 200; None without one."""
    spectrum = record.spectrum
    if spectrum is None:
        return None
    low, high = spectrum.grid[0], spectrum.grid[-1]
    span, top = (high - low) or 1.0, max(spectrum.density) or 1.0

    def across(value: float) -> float:
        return round(20 + 380 * (value - low) / span, 1)

    points = [
        f"{across(x)},{round(180 - 165 * max(y, 0) / top, 1)}"
        for x, y in zip(spectrum.grid, spectrum.density, strict=True)
    ]
    path = f"M{across(low)},180 L{' L'.join(points)} L{across(high)},180 Z"
    ticks = [(across(low + span * k / 4), f"{low + span * k / 4:.3g}") for k in range(5)]
    return Curve(path, ticks, f"eigenvalues between {low:.3g} and {high:.3g}")


def _degrees(record: FindingRecord) -> str:
    graph = record.graph
    return f"{graph.degree_median:g}, {graph.degree_mean:.1f}, {graph.degree_max:g}"


def _reach(rung: RungRecord) -> float:
    return 0.0 if rung.interval is None else (rung.interval[1] - rung.interval[0]) / 2
