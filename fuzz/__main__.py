"""``python -m fuzz [--quick] [--publish] [NAME ...]``: run fuzzers, write JSON and the page.

Outcomes go to ``runs/fuzz``. With ``--publish`` they go to ``results/fuzz``, and
``results/fuzz/page.md`` is written from them. The exit code is 1 if a promise was broken.
"""

import json
import sys
import time
from importlib import import_module
from pathlib import Path

from fuzz.outcome import Outcome
from fuzz.page import page

ROOT = Path(__file__).parents[1]
RUNS, RESULTS, PAGE = ROOT / "runs/fuzz", ROOT / "results/fuzz", ROOT / "results/fuzz/page.md"
# How many cases: in the test suite, and by make fuzz.
SIZES = {
    "hostile": (14, 450),
    "eigenvalues": (20, 1_000),
    "gradients": (600, 10_000),
    "certificates": (200, 2_000),
    "kills": (0, 100),
}


def main(arguments: list[str]) -> int:
    """Run the named fuzzers, by default all."""
    options = {word for word in arguments if word.startswith("--")}
    names = [word for word in arguments if not word.startswith("--")] or list(SIZES)
    if unknown := (options - {"--quick", "--publish"}) | (set(names) - set(SIZES)):
        sys.exit(f"unknown: {', '.join(sorted(unknown))}; fuzzers are {', '.join(SIZES)}")
    folder = RESULTS if "--publish" in options else RUNS
    folder.mkdir(parents=True, exist_ok=True)
    broken = 0
    for name in names:
        count = SIZES[name]["--quick" not in options]
        if not count:
            continue
        started = time.monotonic()
        outcome: Outcome = import_module(f"fuzz.{name}").run(count)
        seconds = time.monotonic() - started
        broken += len(outcome.failures)
        text = json.dumps(outcome.as_dict(), indent=1)
        (folder / f"{name}.json").write_text(f"{text}\n")
        print(f"{name}: {outcome.tried} tried, {len(outcome.failures)} broke it, {seconds:.0f} s")
        for failure in outcome.failures:
            print(f"  {failure}")
    if "--publish" in options:
        PAGE.write_text(page(read(RESULTS)))
    return int(broken > 0)


def read(folder: Path) -> list[dict]:
    """The outcomes of a folder, in the order above."""
    paths = [folder / f"{name}.json" for name in SIZES]
    return [json.loads(path.read_text()) for path in paths if path.exists()]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
