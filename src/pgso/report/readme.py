"""``python -m pgso.report.readme``: the tables of the README, from the ledgers and benchmarks.

A table stands between ``<!-- results:start -->`` and ``<!-- results:end -->``; what is between the
marks is replaced, the rest of the page is left alone.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pgso.errors import InputError
from pgso.records import RunRecord, RunSpec
from pgso.records.ledger import read_ledger
from pgso.records.numerics import check_one_revision
from pgso.records.spec import RECIPES
from pgso.records.store import write_atomically
from pgso.report.grid import table
from pgso.report.labels import LABELS, plain, signed
from pgso.report.pairs import differences
from pgso.report.statistics import t_interval

README, RESULTS = Path("README.md"), Path("results")
TUNING_FROM = 100  # seeds from here on chose hyper-parameters; they are not results
LEARNED = ("pgso", "mpgso", "auto")
Cell = tuple[str, str, str]  # dataset, conv, data options
# Of a dataset and a conv: the fixed operator's scores, and the differences of each column.
Rows = dict[tuple[str, str], tuple[list[float], list[list[float]]]]


def filled(page: str, results: Path) -> str:
    """The page with its tables as the records are now."""
    for name, text in (("results", results_tables(results)), ("speed", speed_table(results))):
        start, end = f"<!-- {name}:start -->", f"<!-- {name}:end -->"
        if page.count(start) != 1 or page.count(end) != 1:
            raise InputError(f"the page needs one {start} and one {end}")
        before, _, rest = page.partition(start)
        page = f"{before}{start}\n{text}\n{end}{rest.partition(end)[2]}"
    return page


def results_tables(results: Path) -> str:
    """One table a study that compares learned operators with the fixed one, and a list of all."""
    parts, links = [], []
    ledgers = {
        ledger.parent.name: list(read_ledger(ledger).values())
        for ledger in sorted(results.glob("*/records.jsonl"))
    }
    everything = [record for records in ledgers.values() for record in records]
    check_one_revision(everything, "pgso run every study again before its tables are written")
    for study, records in ledgers.items():
        if not records:
            continue
        compared = study_table(records)
        page = f"[{study}]({results.name}/{study}/page.md)"
        if compared:
            parts.append(f"**{page}**\n\n{compared}\n")
        links.append(f"{page} ({len(records)} runs)")
    if not links:
        return "No study has been run yet: `pgso run recipes --budget`, then `make readme`."
    return "\n".join([*parts, f"All studies: {', '.join(links)}."])


def study_table(records: Sequence[RunRecord]) -> str:
    """Fixed scores and paired differences, a row for each dataset; empty if nothing is paired."""
    cells: dict[Cell, list[RunRecord]] = {}
    for record in records:
        if record.spec.seed < TUNING_FROM and record.test is not None and not record.spec.residual:
            cells.setdefault(_cell(record.spec), []).append(record)
    columns = [
        (operator, recipe)
        for recipe in RECIPES
        for operator in LEARNED
        if any(_learned_minus_fixed(runs, operator, recipe) for runs in cells.values())
    ]
    if not columns:
        return ""
    labels = [
        f"{LABELS[operator]}, {recipe}" if len({r for _, r in columns}) > 1 else LABELS[operator]
        for operator, recipe in columns
    ]
    rows: Rows = {}
    for (dataset, conv, options), runs in sorted(cells.items()):
        fixed = [
            r.objective.shown(r.test) for r in runs if _is_baseline(r.spec) and r.test is not None
        ]
        found = [_learned_minus_fixed(runs, operator, recipe) for operator, recipe in columns]
        if fixed and any(found):
            alike = [cell for cell in cells if cell[:2] == (dataset, conv)]
            name = f"{dataset} ({options})" if len(alike) > 1 else dataset
            rows[name, conv] = fixed, found
    several = len(rows) > len({name for name, _ in rows})
    return _by_architecture(rows, labels) if several else _one_a_row(rows, labels)


def _one_a_row(rows: Rows, labels: Sequence[str]) -> str:
    lines = [
        [f"{name}, {conv}", _score(fixed), *map(_difference, found)]
        for (name, conv), (fixed, found) in rows.items()
    ]
    return _table(["test, 100 ×", "fixed", *labels], lines)


def _by_architecture(rows: Rows, labels: Sequence[str]) -> str:
    """A column for each architecture: shorter, and the intervals are on the study's page."""
    names, convs = (dict.fromkeys(part) for part in zip(*rows, strict=True))

    def cell(name: str, conv: str) -> str:
        if (name, conv) not in rows:
            return "–"
        fixed, found = rows[name, conv]
        learned = " / ".join(_difference(points, interval=False) for points in found)
        return f"{plain(float(np.mean(fixed)))}: {learned}"

    lines = [[name, *(cell(name, conv) for conv in convs)] for name in names]
    return _table([f"fixed: {' / '.join(labels)}", *convs], lines)


def _learned_minus_fixed(records: Sequence[RunRecord], operator: str, recipe: str) -> list[float]:
    runs = (r for r in records if r.spec.operator == operator and _recipe(r.spec) == recipe)
    return differences(runs, (r for r in records if _is_baseline(r.spec)))


def speed_table(results: Path) -> str:
    """Every ratio that ``make bench`` has measured, beside what was asked for."""
    rows, machine = [], ""
    for path in sorted((results / "benchmarks").glob("*.json")):
        measured = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(measured, dict):
            continue
        measured_ratios = [row for row in measured["rows"] if "ratio" in row]
        if not measured_ratios:  # scores of find, which have a page of their own
            continue
        on: Mapping[str, Any] = measured["machine"]
        machine = f"{on['threads']} threads, torch {on['torch']}"
        rows += [
            [
                row["name"],
                f"{row['ratio']:.2f}",
                str(row["target"]),
                f"{row['at_best']:.2f}" if "at_best" in row else "",
            ]
            for row in measured_ratios
        ]
    if not rows:
        return "Nothing has been measured yet: `make bench`, then `make readme`."
    ratios = _table(["", "ratio", "asked for", "at best"], rows)
    return f"{ratios}\n\nMeasured with {machine}: `make bench`."


def _cell(spec: RunSpec) -> Cell:
    options = ", ".join(f"{k}={v}" for k, v in sorted(spec.data_options.items()))
    return spec.dataset, spec.conv, options or "as it is"


def _is_baseline(spec: RunSpec) -> bool:
    """Whether the operator is the architecture's own."""
    return spec.operator == "fixed" and spec.preset is None


def _recipe(spec: RunSpec) -> str | None:
    """The recipe whose choices a spec has, whether or not it says so."""
    default = RunSpec(dataset=spec.dataset)
    for name, chosen in RECIPES.items():
        # Not s_rate: it is relative to the weights' rate, which is an architecture's own.
        names = ("s_loss", "s_decay", "s_delay", "evidence", "preset")
        if all(getattr(spec, f) == chosen.get(f, getattr(default, f)) for f in names):
            return name
    return None


def _score(points: Sequence[float]) -> str:
    sd = f" ± {np.std(points, ddof=1):.1f}" if len(points) > 1 else ""
    return f"{plain(float(np.mean(points)))}{sd} ({len(points)})"


def _difference(points: Sequence[float], interval: bool = True) -> str:
    """The mean, with its 95 % interval or without, in bold where the interval leaves out 0."""
    if not points:
        return "–"
    text, ends = signed(float(np.mean(points))), t_interval(points)
    if ends is None:
        return text
    if interval:
        text = f"{text} [{plain(ends.low)}, {plain(ends.high)}]"
    return f"**{text}**" if ends.low > 0 or ends.high < 0 else text


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Names in the first column, numbers in the others; no name may end a cell."""
    return table(header, [[cell.replace("|", "/") for cell in row] for row in rows], numbers=True)


def main() -> None:
    """Write the tables into README.md of the folder this is run in."""
    write_atomically(README, filled(README.read_text(encoding="utf-8"), RESULTS))


if __name__ == "__main__":
    main()
