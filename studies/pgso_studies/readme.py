"""Tables of README and docs, from ledgers and benchmarks; ``python -m pgso_studies`` writes them.

A table stands between ``<!-- results:start -->`` and ``<!-- results:end -->``; what is between the
marks is replaced, the rest of the page is left alone.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binomtest

from pgso.errors import InputError
from pgso.evaluation.statistics import t_interval
from pgso.records import RunRecord, RunSpec
from pgso.records.files import write_atomically
from pgso.records.numerics import check_one_revision
from pgso.report.differences import differences, pairs
from pgso.report.grid import table
from pgso.report.words import plain, signed
from pgso_studies.initialisations import VARIANTS, variant_of
from pgso_studies.ledger import read_ledger

RESULTS = Path("results")
# The datasets of the README: what neighbours have to do with each other differs between them.
SHOWN = ("Cora", "CiteSeer", "digits", "MUTAG", "PTC_MR", "Texas", "Chameleon", "minesweeper")
RACED = {"minesweeper": "minesweeper-public"}  # by another name in the race
LEARNING = ("s_loss", "s_decay", "s_rate", "s_delay", "evidence", "preset")  # how S is learned


def filled(page: str, tables: Mapping[str, str]) -> str:
    """The page with these tables between their marks."""
    for name, text in tables.items():
        start, end = f"<!-- {name}:start -->", f"<!-- {name}:end -->"
        if page.count(start) != 1 or page.count(end) != 1:
            raise InputError(f"the page needs one {start} and one {end}")
        before, _, rest = page.partition(start)
        page = f"{before}{start}\n{text}\n{end}{rest.partition(end)[2]}"
    return page


def results_table(results: Path) -> str:
    """One row per dataset: what a user may take, fixed, learned, found, or the best rival."""
    records, rivals = _ledger(results, "recipes"), _rivals(results)
    findings = {row["dataset"].lower(): row for row in _measured(results / "find" / "scores.json")}
    rows = []
    for dataset in SHOWN:
        runs = [r for r in records if r.spec.dataset == dataset and not r.spec.residual]
        fixed = [r for r in runs if r.spec.operator == "fixed" and r.spec.preset is None]
        learned = [r for r in runs if r.spec.operator == "pgso" and _is_the_papers(r.spec)]
        points = differences(learned, fixed)
        if not points:
            continue
        both = pairs(learned, fixed)
        scores = [p.baseline.objective.shown(p.baseline.test) for p in both if p.baseline.test]
        rows.append(
            [
                f"{dataset}, {fixed[0].spec.conv.upper()}",
                _score(scores),
                _difference(points),
                *_found(findings.get(dataset.lower())),
                rivals.get(RACED.get(dataset, dataset), "–"),
            ]
        )
    if not rows:
        return "No study has been run yet: `pgso run recipes`, then `make readme`."
    header = ["test score, 100 ×", "fixed", "PGSO minus fixed", "`find`, closed form",
              "`find`, as it predicts", "it kept, mostly", "best rival in the race"]  # fmt: skip
    ladder = _read(results / "find" / "scores.json").get("ladder", "–")
    revision = (
        f"Networks were trained with revision {records[0].numerics} of the numerics, `find` is of "
        f"revision {ladder} of its ladder. In brackets: "
        "splits or seeds. The best rival is the best of several on test, so it is flattered."
    )
    return f"{_table(header, rows)}\n\n{revision}"


def starts_table(results: Path) -> str:
    """One row per start: the test score of GCN-PGSO that learns from there, in each network."""
    by_start: dict[str, dict[str, list[float]]] = {}
    for record in _ledger(results, "initialisations"):
        if record.test is not None:
            of_start = by_start.setdefault(str(record.spec.preset), {})
            shown = record.objective.shown(record.test)
            of_start.setdefault(variant_of(record.spec), []).append(shown)
    if not by_start:
        return "Not run yet: `pgso run initialisations`, then `make readme`."
    ordered = sorted(by_start.items(), key=lambda item: -float(np.mean(item[1].get("", [0.0]))))
    known = [name for name in VARIANTS if any(name in of_start for of_start in by_start.values())]
    rows = [
        [f"`{start}`", *(_score(cells[name]) if name in cells else "" for name in known)]
        for start, cells in ordered
    ]
    return _table(["start", *(name or "test" for name in known)], rows)


def speed_table(results: Path) -> str:
    """Every ratio that ``make bench`` has measured."""
    rows, machine = [], ""
    for path in sorted((results / "benchmarks").glob("*.json")):
        ratios = _measured(path)
        on = json.loads(path.read_text(encoding="utf-8"))["machine"]
        machine = f"{on['threads']} threads, torch {on['torch']}"
        for row in ratios:
            limit = row["target"].replace("<=", "≤") if "<=" in row["target"] else ""
            at_best = f"{row['at_best']:.2f}" if "at_best" in row else ""
            rows.append([row["name"], f"{row['ratio']:.2f}", limit, at_best])
    if not rows:
        return "Nothing has been measured yet: `make bench`, then `make readme`."
    head = ["", "ratio", "limit", "at best"]
    return f"{_table(head, rows)}\n\nMeasured with {machine}: `make bench`."


def _ledger(results: Path, study: str) -> list[RunRecord]:
    records = list(read_ledger(results / study / "records.jsonl").values())
    check_one_revision(records, f"pgso run {study} runs the older ones again")
    return records


def _measured(path: Path) -> list[dict[str, Any]]:
    measured = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return list(measured.get("rows", [])) if isinstance(measured, dict) else []


def _is_the_papers(spec: RunSpec) -> bool:
    """Whether S is learned as in Appendix B.2.2."""
    return all(getattr(spec, f) == RunSpec.model_fields[f].default for f in LEARNING)


def _found(row: Mapping[str, Any] | None) -> tuple[str, str, str]:
    if row is None:
        return "–", "–", "–"
    closed = [100 * run.get("rung", run["test"]) for run in row["runs"]]
    scores = [100 * run["test"] for run in row["runs"]]
    ((name, count),) = Counter(run["kept"] for run in row["runs"]).most_common(1)
    return _score(closed), _score(scores), f"{name} ({count} of {len(scores)})"


def _rivals(results: Path) -> dict[str, str]:
    """The rival with the best mean on test for every dataset of the race, by name and score."""
    cells = results / "rivals" / "cells.jsonl"
    scores: dict[str, dict[str, dict[int, float]]] = {}
    for line in cells.read_text(encoding="utf-8").splitlines() if cells.is_file() else ():
        cell = json.loads(line)
        if cell["rival"] not in ("find", "find_ridge", "majority"):
            of_dataset = scores.setdefault(cell["dataset"], {})
            of_dataset.setdefault(cell["rival"], {})[cell["split"]] = 100 * cell["test"]
    best = {}
    for dataset, by_rival in scores.items():
        most = max(map(len, by_rival.values()))
        means = {r: list(s.values()) for r, s in by_rival.items() if len(s) == most}
        name = max(means, key=lambda rival: float(np.mean(means[rival])))
        label = name.replace("_", " ")
        best[dataset] = f"{label} {_score(means[name])}, best of {len(means)}"
    return best


def _score(points: Sequence[float]) -> str:
    sd = f" ± {np.std(points, ddof=1):.1f}" if len(points) > 1 else ""
    return f"{plain(float(np.mean(points)))}{sd} ({len(points)})"


def _difference(points: Sequence[float]) -> str:
    """The mean with its 95 % interval, in bold where the interval leaves out 0."""
    text, ends = signed(float(np.mean(points))), t_interval(points)
    if ends is None:
        return text
    text = f"{text} [{plain(ends.low)}, {plain(ends.high)}]"
    return f"**{text}**" if ends.low > 0 or ends.high < 0 else text


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Names in the first column, numbers in the others; no name may end a cell."""
    return table(header, [[cell.replace("|", "/") for cell in row] for row in rows], numbers=True)


SCENARIOS = {  # the options of a simulated graph, in words
    "labels": "{} labels",
    "val": "{} for validation",
    "nodes": "{} nodes",
    "classes": "{} classes",
    "metric": "{}",
    "hubs": "hubs",
    "directed": "directed",
    "columns": "{} columns",
    "noise": "noise {}",
    "imbalance": "one frequent class",
    "copies": "rows twice",
    "tails": "heavy tails",
}
COUNTS = ("truth", "repeats", "beyond", "wrong")


def scores_table(results: Path) -> str:
    """A row a dataset: the kept rung and GCN's own on test, over splits, and seconds."""
    measured = _read(results / "find" / "scores.json")
    rows = [_scores(row) for row in measured.get("rows", [])]
    if not rows:
        return "Not measured yet: `python -m benchmarks.finding`, then `make readme`."
    header = [
        "test, 100 ×", "splits", "kept", "GCN's own", "kept minus GCN's own", "shown from",
        "it kept, mostly", "CPU seconds",
    ]  # fmt: skip
    on, raced = measured["machine"], _read(results / "find" / "against_training.json")
    faster = (
        f" On Cora it is {raced['times_faster']:.0f} times faster than training its "
        f"{raced['rungs']} rungs as PyG's GCN for 200 epochs each "
        "(`python -m benchmarks.finding.against_training`)."
        if raced.get("ladder") == measured["ladder"]
        else ""
    )
    return (
        f"{table(header, rows, numbers=True)}\n\nRevision {measured['ladder']} of the ladder, "
        f"{on['threads']} thread, torch {on['torch']}: `python -m benchmarks.finding`."
        f"{_unmeasured(measured)}{faster}"
    )


def _unmeasured(measured: Mapping[str, Any]) -> str:
    """Which datasets have fewer splits than planned, or none."""
    known = {row["dataset"]: row["splits"] for row in measured["rows"]}
    left = [
        f"{name} ({known.get(name, 0)} of {splits})"
        for name, splits in measured.get("planned", {}).items()
        if known.get(name, 0) < splits
    ]
    return f" Not all splits have been measured with it: {', '.join(left)}." if left else ""


def _scores(row: dict[str, Any]) -> list[str]:
    runs = row["runs"]
    gains = [100 * (run["test"] - run["gcn"]) for run in runs]
    ends = t_interval(gains)
    gain, needed = signed(100 * row["gain"]), "–"
    if ends is not None:
        gain += f" [{plain(ends.low)}, {plain(ends.high)}]"
        needed = signed((ends.high - ends.low) / 2)
    ((name, count),) = Counter(run["kept"] for run in runs).most_common(1)
    scores = [plain(100 * row[which]) for which in ("test", "gcn")]
    kept = f"{name} ({count} of {len(runs)})"
    seconds = f"{row['processor_seconds']:.1f}"
    return [row["dataset"], str(row["splits"]), *scores, gain, needed, kept, seconds]


def risk_table(results: Path) -> str:
    """A row a scenario: how often ``find`` climbed beyond the truth, and was wrong."""
    measured = _read(results / "find" / "risk.json")
    rows = []
    for row in measured.get("rows", []):
        words = [SCENARIOS[name].format(value) for name, value in row.items() if name not in COUNTS]
        graph = ", ".join(words).replace("_", " ") or "–"
        strict, mild = (_share(row[name], row["repeats"]) for name in ("beyond", "wrong"))
        rows.append([row["truth"], graph, str(row["repeats"]), strict, mild])
    if not rows:
        return "Not simulated yet: `python -m benchmarks.finding.risk`, then `make readme`."
    header = ["labels follow", "the graph", "graphs", "strictly wrong: beyond the truth",
              "mildly wrong: and not better on test"]  # fmt: skip
    older = [_read(path) for path in sorted((results / "find").glob("risk.ladder-*.json"))]
    said = " ".join(_climbs(content) for content in (measured, *reversed(older)))
    return (
        f"{table(header, rows, numbers=True)}\n\nCounts with their share and its exact 95 % "
        f"interval. {said}"
    )


def _climbs(measured: Mapping[str, Any]) -> str:
    """The strict and the mild reading of wrong, over all scenarios of a revision."""
    every, beyond, wrong = (
        sum(row[name] for row in measured["rows"]) for name in ("repeats", "beyond", "wrong")
    )
    return (
        f"Revision {measured['ladder']} of the ladder: of {every} graphs, `find` climbs beyond the "
        f"truth on {_share(beyond, every)}, the strict reading of wrong, and without a better "
        f"test score on {_share(wrong, every)}, the mild one."
    )


def _share(count: int, of: int) -> str:
    """A count and its share in per cent with its exact 95 % interval (Clopper and Pearson)."""
    if not of:
        return "–"
    ends = binomtest(count, of).proportion_ci()
    return f"{count} ({100 * count / of:.1f} % [{100 * ends.low:.1f}, {100 * ends.high:.1f}])"


def _read(path: Path) -> dict[str, Any]:
    measured = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return measured if isinstance(measured, dict) and "ladder" in measured else {}


# Which tables stand on which page.
PAGES: dict[str, dict[str, Callable[[Path], str]]] = {
    "README.md": {"results": results_table},
    "docs/beyond_one_s.md": {"starts": starts_table},
    "results/find/page.md": {"scores": scores_table, "risk": risk_table},
    "docs/speed.md": {"speed": speed_table},
}


def write_pages(pages: Mapping[str, Mapping[str, Callable[[Path], str]]]) -> None:
    """Write tables from ``results/`` into pages of the folder this is run in."""
    for page, tables in pages.items():
        text = Path(page).read_text(encoding="utf-8")
        made = {name: make(RESULTS) for name, make in tables.items()}
        write_atomically(Path(page), filled(text, made))
