"""The printed numbers are the paper's, digit by digit."""

import re
from pathlib import Path

import pytest

from pgso_studies.published import PUBLISHED

PAPER = Path(__file__).parents[3] / "shared" / "paper.tex"
TABLES = (("Cora", "CiteSeer", "ogbn-arxiv"),)
TABLES += (("MUTAG", "PTC_MR", "IMDB-BINARY", "IMDB-MULTI", "ogbg-molhiv"),)


@pytest.mark.skipif(not PAPER.exists(), reason="the paper is not here")
def test_cells_are_those_of_tables_3_and_4():
    rows = re.findall(
        r"\\textbf\{(G\w+|SGC)(-m?PGSO)?\s*\}((?: &[^&\\]*\$\\;\\pm\\;\$[\d.]+)+)",
        PAPER.read_text(),
    )
    assert len(rows) == 24
    by_name = {}
    for place, (conv, operator, cells) in enumerate(rows):
        name = operator.strip("-").lower() or "fixed"
        numbers = re.findall(r"([\d.]+)\$\\;\\pm\\;\$([\d.]+)", cells)
        for dataset, (mean, sd) in zip(TABLES[place // 12], numbers, strict=True):
            by_name[dataset, conv.lower(), name] = (float(mean), float(sd))
    assert by_name == {key: tuple(cell) for key, cell in PUBLISHED.items()}
