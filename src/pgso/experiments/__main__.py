"""``python -m pgso.experiments``: the tables of docs/studies.md and docs/what_we_found.md.

Each stands between ``<!-- NAME:start -->`` and ``<!-- NAME:end -->`` and comes from ``results/``.
"""

from pathlib import Path

from pgso.experiments.found import PAGES
from pgso.records.store import write_atomically
from pgso.report.readme import RESULTS, filled


def main() -> None:
    """Write the tables into the pages of the folder this is run in."""
    for page, tables in PAGES.items():
        text = Path(page).read_text(encoding="utf-8")
        made = {name: make(RESULTS) for name, make in tables.items()}
        write_atomically(Path(page), filled(text, made))


if __name__ == "__main__":
    main()
