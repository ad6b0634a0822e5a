"""``python -m pgso.experiments``: the tables of the docs that come from studies.

Each stands between ``<!-- NAME:start -->`` and ``<!-- NAME:end -->`` and comes from ``results/``.
"""

from pgso.experiments.found import PAGES
from pgso.report.readme import write_pages

if __name__ == "__main__":
    write_pages(PAGES)
