"""``python -m benchmarks.rivals page``: docs/rivals.md, its picture and README's sentence."""

import csv
import json
from collections.abc import Iterable
from statistics import mean
from typing import Any

from jinja2 import Environment, StrictUndefined

from benchmarks.rivals import fingerprints, ledger, picture, rank
from benchmarks.rivals.field import DATASETS, HERE, OURS, RANDOM, RESULTS, RIVALS, races
from benchmarks.rivals.summary import Difference, Race

ROOT = HERE.parents[1]
TEMPLATE = HERE / "page.md.jinja"
PAGE, README = ROOT / "docs" / "rivals.md", ROOT / "README.md"
PICTURE = ROOT / "docs" / "assets" / "rivals.png"
START, END = "<!-- rivals:start -->", "<!-- rivals:end -->"
SPEED = RESULTS / "speed.json"


def page(race: Race) -> str:
    """The whole page."""
    kinds = {
        "Nodes": [d for d in race.datasets if DATASETS[d].kind == "node"],
        "Graphs and molecules": [d for d in race.datasets if DATASETS[d].kind == "graph"],
    }
    loads = [r["load"] for r in race.records.values() if r.get("load") is not None]
    template = Environment(undefined=StrictUndefined, keep_trailing_newline=True).from_string(
        TEMPLATE.read_text(encoding="utf-8")
    )
    return template.render(
        reference=RIVALS[race.reference].label,
        ladder=_ladder(race),
        splits=_splits(race),
        load=f"{mean(loads):.1f}" if loads and mean(loads) > 1.5 else "",
        has_intervals=any(d.reach is not None for d in race.differences.values()),
        sentences=sentences(race),
        rivals=_rivals_table(race),
        kinds={
            title: {
                "scores": _scores_table(race, datasets),
                "differences": _differences_table(race, datasets),
                "seconds": _seconds_table(race, datasets),
            }
            for title, datasets in kinds.items()
            if datasets
        },
        molecules=_molecules(race),
        published=_published(race),
        ranking=_ranking(),
        speed=_speed(),
    )


def sentences(race: Race) -> list[str]:
    """What the data carry, also where ``find`` is beaten."""
    said = [overall(race)]
    beaten = [
        f"{RIVALS[rival].short} on {dataset} ({_difference(race, dataset, difference)})"
        for (dataset, rival), difference in race.differences.items()
        if difference.verdict == "better"
    ]
    if beaten:
        said.append(f"`find` is beaten, with an interval above 0, by {_listed(beaten)}.")
    elif any(difference.reach is not None for difference in race.differences.values()):
        said.append("No rival beats `find` with an interval above 0.")
    said += _without_intervals(race)
    slow = race.slowdown("gcn")
    if slow is not None:
        gap = race.gap("gcn")
        said.append(
            f"PyG's GCN takes {slow:.1f} times the CPU seconds of `find` (median over datasets)."
            + (f" It is {_way(gap[0])} on {gap[1]} datasets." if gap else "")
        )
    return said


def _way(gap: float) -> str:
    side = "ahead of" if gap > 0 else "behind"
    return f"{abs(100 * gap):.0f} % of the way from guessing to the best {side} `find` in the mean"


def overall(race: Race) -> str:
    """The race in one sentence, which README shows too."""
    verdicts = [d.verdict for (_, who), d in race.differences.items() if who in race.others]
    paired = [verdict for verdict in verdicts if verdict != "no interval"]
    if not paired:
        return "The race against what you might use instead has begun; no comparison is there yet."
    datasets = {
        dataset
        for (dataset, who), difference in race.differences.items()
        if who in race.others and difference.reach is not None
    }
    text = (
        f"Against {len(race.others)} things you might use instead, on {len(datasets)} datasets "
        f"with three splits or more, the same labels and one core, `find` is clearly better in "
        f"{paired.count('worse')} of {len(paired)} comparisons, clearly worse in "
        f"{paired.count('better')}"
    )
    toughest = max(race.others, key=lambda who: len(race.where(who, "better")), default=None)
    wins = len(race.where(toughest, "better")) if toughest else 0
    if toughest and wins > 1:
        text += f" (most often against {RIVALS[toughest].label}: {wins})"
    return f"{text}, and {paired.count('open')} are open."


def _without_intervals(race: Race) -> list[str]:
    """Who is ahead on datasets with one or two splits so far."""
    ahead, level = [], []
    for dataset in race.datasets:
        theirs = {r: d for (name, r), d in race.differences.items() if name == dataset}
        if not theirs or any(difference.reach is not None for difference in theirs.values()):
            continue
        best = max(theirs, key=lambda rival: theirs[rival].mean)
        if theirs[best].mean > 0:
            scores = [_score(race, dataset, rival) for rival in (best, race.reference)]
            ahead.append(f"{RIVALS[best].short} on {dataset} ({scores[0]} against {scores[1]})")
        else:
            level.append(dataset)
    text = "Datasets with fewer than three splits, published or run so far, have no interval; "
    text += "among many rivals one may be ahead by luck."
    if ahead:
        text += f" The best there, ahead of `find`: {_listed(ahead)}."
    if level:
        text += f" Nobody is ahead of `find` on {_listed(level)}."
    return [text] if ahead or level else []


def _rivals_table(race: Race) -> str:
    header = [
        "rival",
        "chooses",
        "datasets",
        "better than find",
        "open",
        "worse",
        "× CPU of find",
        "minus find, % of the way",
        "peak memory, MiB",
    ]
    rows = []
    for rival in race.rivals:
        verdicts = [str(len(race.where(rival, v))) for v in ("better", "open", "worse")]
        slowdown, gap = race.slowdown(rival), race.gap(rival)
        rows.append(
            [
                RIVALS[rival].label,
                RIVALS[rival].knob,
                str(len([d for d in race.datasets if race.runs(d, rival)])),
                *(["–"] * 3 if rival == race.reference else verdicts),
                "–" if slowdown is None else _brief(slowdown),
                "–" if gap is None else f"{100 * gap[0]:+.0f} ({gap[1]})",
                f"{race.most_memory(rival):.0f}",
            ]
        )
    return _table(header, rows)


def _scores_table(race: Race, datasets: list[str]) -> str:
    rivals = [r for r in race.rivals if any(race.runs(d, r) for d in datasets)]
    rows = []
    for dataset in datasets:
        counts = {rival: race.scored(dataset, rival) for rival in rivals}
        most = max(counts.values())
        best = max(_merit(race, dataset, rival) for rival in rivals if counts[rival] == most)
        cells = []
        for rival, count in counts.items():
            text = _score(race, dataset, rival)
            if 0 < count < most:
                text = f"{text} ({count})"
            elif text and _merit(race, dataset, rival) == best:
                text = f"**{text}**"
            cells.append(text)
        heading = race.objective(dataset).heading
        rows.append([f"{dataset}, {heading}", str(most), *cells])
    return _table(["mean over splits", "splits", *(RIVALS[r].short for r in rivals)], rows)


def _differences_table(race: Race, datasets: list[str]) -> str:
    rivals = [
        rival
        for rival in race.rivals
        if rival != "majority" and any((d, rival) in race.differences for d in datasets)
    ]
    rows = []
    for dataset in datasets:
        cells = []
        for rival in rivals:
            difference = race.differences.get((dataset, rival))
            text = "" if difference is None else _difference(race, dataset, difference)
            is_clear = difference is not None and difference.verdict in ("better", "worse")
            cells.append(f"**{text}**" if is_clear else text)
        rows.append([dataset, *cells])
    return _table(["", *(RIVALS[r].short for r in rivals)], rows)


def _seconds_table(race: Race, datasets: list[str]) -> str:
    rivals = [r for r in race.rivals if any(race.runs(d, r) for d in datasets) and r != "majority"]
    rows = []
    for dataset in datasets:
        seconds = [race.seconds(dataset, rival) for rival in rivals]
        rows.append([dataset, *("" if s is None else _brief(s) for s in seconds)])
    return _table(["", *(RIVALS[r].short for r in rivals)], rows)


def _molecules(race: Race) -> dict[str, Any] | None:
    measured = [d for d in race.datasets if race.runs(d, "forest") and race.runs(d, race.reference)]
    if not measured:
        return None
    ahead = [d for d in measured if _merit(race, d, "forest") > _merit(race, d, race.reference)]
    pairs = [
        f"{dataset} {_score(race, dataset, 'forest')} against "
        f"{_score(race, dataset, race.reference)} ({race.objective(dataset).heading})"
        for dataset in measured
    ]
    return {
        "radius": fingerprints.RADIUS,
        "bits": f"{fingerprints.BITS:,}",
        "pairs": _listed(pairs),
        "ahead": _listed(ahead) if ahead else "",
        "has_random": any(dataset.endswith(RANDOM) for dataset in measured),
    }


def _published(race: Race) -> str:
    """Scores that others have published, next to ours; empty if none is about a measured graph."""
    with (HERE / "published.csv").open(encoding="utf-8", newline="") as file:
        lines = [line for line in csv.DictReader(file) if race.runs(line["dataset"], OURS[-1])]
    ours = [_score(race, line["dataset"], OURS[-1]) for line in lines]
    rows = [
        [line["dataset"], score, line["score"], line["model"], line["source"]]
        for line, score in zip(lines, ours, strict=True)
    ]
    return _table(["", RIVALS[OURS[-1]].short, "published", "by", "source"], rows) if rows else ""


def _ranking() -> dict[str, Any] | None:
    records = rank.records()
    if not records:
        return None
    names = list(dict.fromkeys(record["dataset"] for record in records))
    rows, means = [], {}
    for way, label in rank.WAYS.items():

        def known(name: str | None, way: str = way) -> list[float]:
            chosen = [r for r in records if name is None or r["dataset"] == name]
            values = [rank.correlation(record, way) for record in chosen]
            return [value for value in values if value is not None]

        means[way] = mean(known(None))
        regrets = [100 * rank.regret(record, way) for record in records]
        seconds = [record["seconds"][way] for record in records]
        cells = [_mean(known(name)) for name in names]
        rows.append([label, f"{means[way]:.2f}", *cells, _mean(regrets, 1), _mean(seconds)])
    return {
        "epochs": records[0]["epochs"],
        "table": _table(["", "mean", *names, "points lost", "CPU seconds"], rows),
        "count": len(records),
        "best": rank.WAYS[max(means, key=means.__getitem__)],
        "training": _mean([record["seconds"]["training"] for record in records], 1),
    }


def _speed() -> dict[str, Any] | None:
    if not SPEED.exists():
        return None
    measured = json.loads(SPEED.read_text(encoding="utf-8"))
    rows = []
    for row in measured["rows"]:
        ours = row["ms"]["pgso"]
        others = [row["ms"].get(way) for way in measured["ways"]]
        ratios = ["" if other is None else f"{other / ours:.2f}" for other in others]
        rows.append([row["name"], f"{ours:.2f}", *ratios])
    return {
        "torch": measured["torch"],
        "missing": " ".join(measured["missing"]),
        "busy": f"{measured['load']:.1f}" if measured["load"] > 1.5 else "",
        "table": _table(["", "ours, ms", *measured["ways"].values()], rows),
    }


def _merit(race: Race, dataset: str, rival: str) -> float:
    return race.objective(dataset).merit(race.test(dataset, rival))


def _score(race: Race, dataset: str, rival: str) -> str:
    score = race.test(dataset, rival)
    return "" if score is None else race.objective(dataset).written(score)


def _difference(race: Race, dataset: str, difference: Difference) -> str:
    objective = race.objective(dataset)
    digits = 1 if objective.in_percent else 2
    reach = difference.reach
    ends = (0.0,) if reach is None else (0.0, -reach, reach)
    middle, *interval = (objective.shown(difference.mean + end) for end in ends)
    text = f"{middle:+.{digits}f}"
    return text + (f" [{interval[0]:.{digits}f}, {interval[1]:.{digits}f}]" if interval else "")


def _ladder(race: Race) -> str:
    ladders = {r["ladder"] for (_, _, who), r in race.records.items() if who == race.reference}
    return ", ".join(str(ladder) for ladder in sorted(ladders)) or "–"


def _splits(race: Race) -> str:
    counts = sorted({race.splits(d) for d in race.datasets if DATASETS[d].splits > 1})
    single = [d for d in race.datasets if DATASETS[d].splits == 1]
    planned = sum(
        dataset.splits
        for dataset in DATASETS.values()
        for rival in RIVALS.values()
        if races(rival, dataset)
    )
    said = [f"{len(race.records):,} of the {planned:,} cells of the full race are measured."]
    if counts:
        span = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        said.append(f"`find` has run on {span} of ten public splits, folds or seeds.")
    if single:
        said.append(f"{_listed(single)} have one published split.")
    return " ".join(said)


def _brief(number: float) -> str:
    return f"{number:.0f}" if number >= 10 else f"{number:.2g}"


def _mean(values: list[float], digits: int = 2) -> str:
    return f"{mean(values):.{digits}f}" if values else "–"


def _listed(names: Iterable[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def _table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def with_sentence(readme: str, race: Race) -> str:
    """README with the sentence of the race between its marks."""
    before, _, rest = readme.partition(START)
    _, _, after = rest.partition(END)
    assert after, f"README needs {START} and {END}"
    return f"{before}{START}\n{overall(race)} [The race](docs/rivals.md).\n{END}{after}"


def main(arguments: list[str]) -> None:
    """Write the page, the picture and the sentence."""
    del arguments
    race = Race(ledger.read())
    PAGE.write_text(page(race), encoding="utf-8")
    readme = with_sentence(README.read_text(encoding="utf-8"), race)
    README.write_text(readme, encoding="utf-8")
    picture.draw(race, PICTURE)
