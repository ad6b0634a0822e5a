"""The page of a finding: whole, offline, escaped, and made from the record alone."""

import re
from datetime import date
from html.parser import HTMLParser

import pytest

from pgso import find
from pgso.report.finding import (
    finding_page,
    ladder_bars,
    predictions_grid,
    rungs_grid,
    write_finding,
)
from pgso.report.sections import as_html


@pytest.fixture(scope="module")
def record():
    return find("karate").record


def test_it_shows_verdict_ladder_and_advice(record, tmp_path):
    page = write_finding(record, tmp_path / "a").read_text()
    assert record.best in page
    ladder = page.partition('class="bars"')[2].partition("</section>")[0]
    assert ladder.count('class="point"') == len(record.rungs)
    places = [page.index(text) for text in (f"Use {record.best}", "pgso compare karate", ladder)]
    assert places == sorted(places)  # the verdict, what to type next, the evidence
    for rung in record.rungs:
        assert rung.name in page


def test_it_fetches_nothing_and_can_be_read_and_turned_dark(record):
    page = as_html(finding_page(record))
    assert "default-src 'none'" in page
    assert not re.search(r"(src|href)=\"(?!data:|#|finding.json\")", page)
    assert 'id="theme"' in page
    assert 'href="#reading"' in page
    assert f"Drawn on {date.today().isoformat()}" in page


def test_names_of_users_are_escaped(record):
    nasty = record.model_copy(update={"dataset": "<img src=x onerror=alert(1)>"})
    page = as_html(finding_page(nasty))
    assert "<img" not in page
    assert "&lt;img" in page


def test_tags_are_closed(record):
    class Parser(HTMLParser):
        def __init__(self):
            super().__init__()
            self.stack = []

        def handle_starttag(self, tag, attrs):
            if tag not in ("meta", "link", "input"):
                self.stack.append(tag)

        def handle_endtag(self, tag):
            assert self.stack.pop() == tag

    parser = Parser()
    parser.feed(as_html(finding_page(record)))
    assert parser.stack == []


def test_bars_stand_in_the_order_of_their_losses(record):
    bars = ladder_bars(record)
    assert [bar.end for bar in bars] == sorted(bar.end for bar in bars)
    assert all(0 <= bar.low <= bar.end <= bar.high <= 100 for bar in bars)
    assert [bar.kind for bar in bars].count("kept") == 1


def test_the_kept_rung_is_the_first_row_of_the_table(record):
    for grid in (rungs_grid(record), rungs_grid(record, 12)):
        assert grid.rows[0][0] == f"→ {record.best}"
        losses = [float(row[1]) for row in grid.rows[1:]]
        assert losses == sorted(losses)


def test_predictions_stand_beside_the_truth(record):
    rows = predictions_grid(record).rows
    assert len(rows) == len(record.predictions) > 0
    right = sum(row[4] == "yes" for row in rows) / len(rows)
    assert right == pytest.approx(record.rung(record.best).test)
    assert rows[0][1] in ("Mr. Hi", "Officer")
    numbers = find("diabetes").record
    grid = predictions_grid(numbers)
    assert grid.header == ("item", *(f"{numbers.targets[0]}{end}" for end in ("", ", truth")))
    assert all(50 < float(row[1]) < 350 for row in grid.rows)


def test_the_spectrum_is_a_plot_where_there_is_one(record):
    (plot,) = finding_page(record).plots
    assert plot.series[0].points[0] == (record.spectrum.grid[0], record.spectrum.density[0])
    without = record.model_copy(update={"spectrum": None, "predictions": ()})
    assert finding_page(without).plots == []
