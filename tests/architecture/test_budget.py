"""The size of the house: lines and files of every folder, and how far a reader walks.

``python -m tests.architecture.test_budget`` lowers the limits in ``budget.json`` to what is
measured; it never raises one. A feature may raise its own folder's limit by hand, in its own
commit, with the reason. The total is not raised.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SOURCE = HERE.parents[1] / "src" / "pgso"
FILE = HERE / "budget.json"
BUDGET = json.loads(FILE.read_text())


def measured_size() -> dict[str, list[int]]:
    """Lines and files of each folder of the package; ``.`` is what stands beside the folders."""
    sizes: dict[str, list[int]] = {}
    for file in SOURCE.rglob("*.py"):
        parts = file.relative_to(SOURCE).parts
        size = sizes.setdefault(parts[0] if len(parts) > 1 else ".", [0, 0])
        size[0] += len(file.read_text().splitlines())
        size[1] += 1
    return sizes


def log_of_walks() -> str:
    """What the process has written that imports every module and takes every walk."""
    walks = BUDGET["walks"] if hasattr(os, "fork") else ()  # each walk is a fork
    done = subprocess.run(
        [sys.executable, "-m", "tests.architecture.walks", *walks],
        capture_output=True,
        text=True,
        cwd=HERE.parents[1],
    )
    return done.stderr


def measured_walks(log: str) -> dict[str, list[int]]:
    """Functions and files of every walk."""
    lines = [json.loads(line) for line in log.splitlines() if line.startswith('{"walk"')]
    walks = {line["walk"]: [line["functions"], line["files"]] for line in lines}
    assert set(walks) == set(BUDGET["walks"]), log
    return walks


def test_no_folder_is_larger_than_its_budget():
    over = {
        folder: (size, BUDGET["folders"].get(folder, [0, 0]))
        for folder, size in measured_size().items()
        if any(a > b for a, b in zip(size, BUDGET["folders"].get(folder, [0, 0]), strict=True))
    }
    assert not over, f"[lines, files] measured and allowed (see this file's first lines): {over}"


def test_the_house_is_not_larger_than_its_budget():
    lines, files = (sum(column) for column in zip(*measured_size().values(), strict=True))
    assert lines <= BUDGET["total"][0]
    assert files <= BUDGET["total"][1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="each walk is a fork")
def test_no_walk_is_longer_than_its_budget(walks):
    for walk, (functions, files) in measured_walks(walks).items():
        # A few functions depend on the machine: how long a step takes, how wide the terminal is.
        assert functions <= 1.01 * BUDGET["walks"][walk][0], walk
        assert files <= BUDGET["walks"][walk][1], walk


def lower() -> None:
    """Write what is measured where it is below a limit; drop folders that are gone."""
    sizes = measured_size()
    folders = {
        name: [min(a, b) for a, b in zip(sizes[name], limit, strict=True)]
        for name, limit in BUDGET["folders"].items()
        if name in sizes
    }
    total = [sum(column) for column in zip(*sizes.values(), strict=True)]
    walks = {
        name: [min(a, b) for a, b in zip(walk, BUDGET["walks"][name], strict=True)]
        for name, walk in measured_walks(log_of_walks()).items()
    }
    lowered = {
        "total": [min(a, b) for a, b in zip(total, BUDGET["total"], strict=True)],
        "folders": folders,
        "walks": walks,
    }
    FILE.write_text(write(lowered))


def write(budget: dict) -> str:
    """The budget as JSON with one folder or walk per line."""
    lines = [f'  "total": {json.dumps(budget["total"])}']
    for group in ("folders", "walks"):
        rows = [f"    {json.dumps(k)}: {json.dumps(v)}" for k, v in sorted(budget[group].items())]
        lines.append(f'  "{group}": {{\n' + ",\n".join(rows) + "\n  }")
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    lower()
