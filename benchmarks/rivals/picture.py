"""The picture of the race: score against seconds, and who beats ``find`` where."""

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Annotation
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import Bbox

from benchmarks.rivals.field import NETWORKS, OURS, RIVALS
from benchmarks.rivals.summary import Race

COLOURS = {"ours": "#d1495b", "networks": "#2e4057", "trees": "#3a7d44", "others": "#8d8d8d"}
TREES = ("hist_boosting", "lightgbm", "catboost_graph", "forest")
ENOUGH = 3  # datasets: a mean over fewer says little
FASTEST = 1e-3  # where the axis begins
VERDICTS = {"better": "#3a7d44", "open": "#d9d9d9", "worse": "#d1495b"}


# Where the name of a point may stand, in points from it; the first place that is free is taken.
PLACES = ((6, 4, "left"), (6, -11, "left"), (-6, 4, "right"), (-6, -11, "right"), (6, 14, "left"))


def draw(race: Race, path: Path) -> None:
    """Write the picture."""
    figure = Figure(figsize=(11, 4.6), layout="constrained")
    shown = [r for r in race.others if any(race.where(r, v) for v in VERDICTS)]
    if shown:
        left, right = figure.subplots(1, 2, width_ratios=(1.25, 1))
        _bars(right, race, shown)
    else:
        left = figure.subplots()
    names = _scatter(left, race)
    figure.draw_without_rendering()  # from here on every text has its place
    figure.set_layout_engine("none")
    _apart(names)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110, metadata={"Software": None})


def family(rival: str) -> str:
    """What kind of rival it is."""
    if rival in OURS:
        return "ours"
    if rival in (*NETWORKS, "tuned_gcn"):
        return "networks"
    return "trees" if rival in TREES else "others"


def _apart(names: list[Annotation]) -> None:
    """Move names that would lie on one another, or on a point."""
    points = [name.axes.transData.transform(name.xy) for name in names]
    taken = [Bbox([point - 5, point + 5]) for point in points]
    for name in names:
        for *place, side in PLACES:
            name.xyann = place
            name.set_ha(side)
            box = name.get_window_extent()
            if not any(box.overlaps(other) for other in taken):
                break
        taken.append(box)


def _scatter(axis: Axes, race: Race) -> list[Annotation]:
    """The points; returns their names."""
    names = []
    for rival in race.rivals:
        gap, slowdown = race.gap(rival), race.slowdown(rival)
        if rival == "majority" or gap is None or slowdown is None or gap[1] < ENOUGH:
            continue
        colour = COLOURS[family(rival)]
        x, y = max(slowdown, FASTEST), 100 * gap[0]
        axis.plot(x, y, "D" if rival in OURS else "o", color=colour)
        text = RIVALS[rival].short + ("" if rival == race.reference else f" ({gap[1]})")
        style = {"textcoords": "offset points", "fontsize": 8, "color": colour}
        names.append(axis.annotate(text, (x, y), xytext=PLACES[0][:2], **style))
    axis.set_xscale("log")
    axis.margins(x=0.3, y=0.08)
    axis.axhline(0, color=COLOURS["ours"], linewidth=0.8)
    axis.set_xlabel("CPU seconds, times those of find (median over datasets)")
    axis.set_ylabel("minus find, % of the way from guess to best")
    axis.set_title("in brackets: datasets that both have run on", fontsize=9)
    axis.grid(alpha=0.3)
    return names


def _bars(axis: Axes, race: Race, shown: list[str]) -> None:
    shown.sort(key=lambda r: (len(race.where(r, "better")), -len(race.where(r, "worse"))))
    for verdict, colour in VERDICTS.items():
        counts = [len(race.where(rival, verdict)) for rival in shown]
        starts = [
            sum(len(race.where(rival, v)) for v in list(VERDICTS)[: list(VERDICTS).index(verdict)])
            for rival in shown
        ]
        axis.barh(range(len(shown)), counts, left=starts, color=colour, label=f"{verdict}")
    axis.set_yticks(range(len(shown)), [RIVALS[rival].short for rival in shown], fontsize=8)
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.set_xlabel(f"datasets, against {RIVALS[race.reference].label}")
    axis.legend(fontsize=8, loc="lower right", bbox_to_anchor=(1, 1), ncols=3, frameon=False)
