"""The picture of the race: score against seconds, and who beats ``find`` where."""

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.rivals.field import NETWORKS, OURS, RIVALS
from benchmarks.rivals.summary import Race

COLOURS = {"ours": "#d1495b", "networks": "#2e4057", "trees": "#3a7d44", "others": "#8d8d8d"}
TREES = ("hist_boosting", "lightgbm", "catboost_graph", "forest")
ENOUGH = 3  # datasets: a mean over fewer says little
VERDICTS = {"better": "#3a7d44", "open": "#d9d9d9", "worse": "#d1495b"}


def draw(race: Race, path: Path) -> None:
    """Write the picture."""
    figure = Figure(figsize=(11, 4.6), layout="constrained")
    shown = [r for r in race.others if any(race.where(r, v) for v in VERDICTS)]
    if shown:
        left, right = figure.subplots(1, 2, width_ratios=(1.25, 1))
        _bars(right, race, shown)
    else:
        left = figure.subplots()
    _scatter(left, race)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110, metadata={"Software": None})


def family(rival: str) -> str:
    """What kind of rival it is."""
    if rival in OURS:
        return "ours"
    return "networks" if rival in NETWORKS else "trees" if rival in TREES else "others"


def _scatter(axis: Axes, race: Race) -> None:
    for rival in race.rivals:
        share = race.mean_share(rival)
        if share is None or share[1] < ENOUGH or rival == "majority":
            continue
        x, y = race.typical_seconds(rival), 100 * share[0]
        colour = COLOURS[family(rival)]
        axis.plot(x, y, "D" if rival in OURS else "o", color=colour)
        axis.annotate(
            f"{RIVALS[rival].short} ({share[1]})",
            (x, y),
            xytext=(6, 4),
            textcoords="offset points",
            fontsize=8,
            color=colour,
        )
    axis.set_xscale("log")
    axis.margins(x=0.18, y=0.08)
    axis.set_xlabel("CPU seconds, one core (geometric mean)")
    axis.set_ylabel("score between guess (0) and best (100)")
    axis.set_title("in brackets: datasets", fontsize=9)
    axis.grid(alpha=0.3)


def _bars(axis: Axes, race: Race, shown: list[str]) -> None:
    shown.sort(key=lambda r: (len(race.where(r, "better")), -len(race.where(r, "worse"))))
    for verdict, colour in VERDICTS.items():
        counts = [len(race.where(rival, verdict)) for rival in shown]
        starts = [
            sum(len(race.where(rival, v)) for v in list(VERDICTS)[: list(VERDICTS).index(verdict)])
            for rival in shown
        ]
        axis.barh(range(len(shown)), counts, left=starts, color=colour, label=f"{verdict}")
    axis.set_yticks(range(len(shown)), [RIVALS[rival].label for rival in shown], fontsize=8)
    axis.set_xlabel(f"datasets on which the rival, against {RIVALS[race.reference].label}, is")
    axis.legend(fontsize=8, loc="lower right")
