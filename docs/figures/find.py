"""The figure of the README, and its excerpt of a terminal: what ``pgso find minesweeper`` answers.

``python docs/figures/find.py`` searches and writes docs/assets/find.json, find.png, the excerpt in
README.md, find.html, which is the command's own page, and report.png, the top of it in chromium.
With ``--draw`` it only draws the picture and the excerpt, from the record that is there.
"""

import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

from pgso.drawing import ORANGE, plot_ladder
from pgso.records.data import Sketch
from pgso.records.finding import FINDING_FILE, FindingRecord, read_finding
from pgso.report.doubts import doubts_of_finding
from pgso.report.finding import headline

ROOT = Path(__file__).parents[2]
ASSETS = ROOT / "docs" / "assets"
RECORD, PICTURE, PAGE = ASSETS / "find.json", ASSETS / "find.png", ASSETS / "find.html"
SCREENSHOT = ASSETS / "report.png"
README = ROOT / "README.md"
START, END = "<!-- find:start -->", "<!-- find:end -->"
SIDE = 16  # cells of the corner of the board that is drawn
SHOWN = ("no graph", "gcn, 2 hops")  # beside the kept rung, in the excerpt


def search() -> FindingRecord:
    """The finding on minesweeper, with a corner of the board as its sketch."""
    import pgso

    found = pgso.find("minesweeper")
    task = found.task
    assert task is not None
    nodes = [100 * row + column for row in range(SIDE) for column in range(SIDE)]
    chances = found.predict()[nodes, task.classes.index("mine")].tolist()
    board = Sketch(
        nodes=tuple(nodes),
        x=tuple(66 * (node % 100) for node in nodes),
        y=tuple(66 * (node // 100) for node in nodes),
        edges=(),
        num_nodes=task.num_nodes,
        colours={
            "label": tuple(task.classes[int(task.y[node])] for node in nodes),
            "chance": tuple(round(chance, 4) for chance in chances),
        },
    )
    return found.record.model_copy(update={"sketch": board, "predictions": (), "spectrum": None})


def write_page() -> None:
    """Run the command, keep the page that it writes, and photograph its top."""
    with tempfile.TemporaryDirectory() as out:
        words = [sys.executable, "-m", "pgso", "find", "minesweeper", "--out", out]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - our own words
        page = (Path(out) / "find-minesweeper" / "report.html").read_text()
    PAGE.write_text(page.replace(FINDING_FILE, RECORD.name))  # the record that it links to
    flags = ["--headless=new", "--no-sandbox", "--hide-scrollbars", "--window-size=1180,860"]
    words = ["chromium", *flags, f"--screenshot={SCREENSHOT}", PAGE.as_uri()]
    subprocess.run(words, check=True, capture_output=True)  # noqa: S603
    Image.open(SCREENSHOT).convert("RGB").quantize(64).save(SCREENSHOT, optimize=True)


def draw(record: FindingRecord) -> Figure:
    """The verdict on top, the board at the left, the ladder at the right."""
    figure = Figure(figsize=(12, 4.9), layout="constrained")
    board, ladder = figure.subplots(1, 2, width_ratios=(1, 1.7))
    verdict = ". ".join(record.verdict.split(". ")[:1]) + "."
    figure.suptitle("\n".join(textwrap.wrap(verdict, 100)), fontsize=13, fontweight="bold")
    draw_board(board, record)
    plot_ladder(record, ladder, most=12)
    return figure


def draw_board(ax: Axes, record: FindingRecord) -> None:
    """Every cell is a node, joined to the eight around it."""
    part = record.sketch
    assert part is not None
    board = ax.scatter(
        part.x, part.y, c=part.colours["chance"], cmap="Blues", vmin=0, marker="s", s=150
    )
    mines = [k for k, label in enumerate(part.colours["label"]) if label == "mine"]
    places = [part.x[k] for k in mines], [part.y[k] for k in mines]
    ax.scatter(*places, c=ORANGE, s=32, label="mine")
    ax.figure.colorbar(board, ax=ax, shrink=0.6, label="predicted chance of a mine")
    ax.legend(loc="upper left", bbox_to_anchor=(0.0, 0.0), frameon=False, fontsize=8)
    ax.set_title(f"{record.dataset}: a corner of {part.num_nodes:,} cells", fontsize=10)
    ax.set_aspect("equal")
    ax.invert_yaxis()
    ax.set_axis_off()


def excerpt(record: FindingRecord) -> str:
    """What the command prints, in short: the verdict, notes, what to type next, and some rungs."""
    objective, rows = record.objective, []
    width = max(len(name) for name in (record.best, *SHOWN))
    for rung in sorted(record.rungs, key=lambda rung: (rung.name != record.best, rung.loss)):
        if rung.name in (record.best, *SHOWN):
            arrow = "→" if rung.name == record.best else " "
            rows.append(
                f"{arrow} {rung.name:{width}}  {rung.loss:.4f}  {objective.written(rung.test)}"
            )
    head = f"  {'rung':{width}}  loss    test {objective.label}"
    verdict = [f"{headline(record)}.", *textwrap.wrap(record.verdict, 100)]
    notes = [
        line
        for doubt in doubts_of_finding(record)
        for line in textwrap.wrap(f"Note: {doubt}.", 100)
    ]
    following = [*notes, "confirm it in a trained network:", f"  {record.command}"]
    shown = [f"$ pgso find {record.dataset}", *verdict, *following, "", head, *rows, ""]
    page = f"report: runs/find-{record.dataset}/report.html"
    return "\n".join(["```text", *shown, page, "```"])


def with_excerpt(text: str, record: FindingRecord) -> str:
    """The README with the excerpt between its marks."""
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{START}\n{excerpt(record)}\n{END}{after}"


def main() -> None:
    """Search unless told only to draw."""
    if "--draw" not in sys.argv:
        search().write(RECORD)
        write_page()
    record = read_finding(RECORD)
    draw(record).savefig(PICTURE, dpi=110)
    README.write_text(with_excerpt(README.read_text(), record))


if __name__ == "__main__":
    main()
