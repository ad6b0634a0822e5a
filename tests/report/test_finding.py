"""The page of a finding: whole, offline, escaped, and made from the record alone."""

import re
from html.parser import HTMLParser

import pytest

from pgso import find
from pgso.report.finding import (
    LEFT,
    RIGHT,
    ladder_marks,
    predictions_grid,
    render_finding,
    spectrum_curve,
    write_finding,
)


@pytest.fixture(scope="module")
def record():
    return find("karate").record


def test_it_shows_verdict_ladder_and_advice(record, tmp_path):
    page = write_finding(record, tmp_path / "a").read_text()
    assert record.best in page
    ladder = page.partition('class="ladder"')[2].partition("</svg>")[0]
    assert ladder.count("<circle") == len(record.rungs)
    assert "pgso compare karate" in page
    for rung in record.rungs:
        assert rung.name in page


def test_it_fetches_nothing_and_runs_nothing(record):
    page = render_finding(record)
    assert "default-src 'none'" in page
    assert "<script" not in page
    assert not re.search(r"(src|href)=\"(?!data:|#|finding.json\")", page)


def test_names_of_users_are_escaped(record):
    nasty = record.model_copy(update={"dataset": "<img src=x onerror=alert(1)>"})
    page = render_finding(nasty)
    assert "<img" not in page
    assert "&lt;img" in page


def test_tags_are_closed(record):
    class Parser(HTMLParser):
        def __init__(self):
            super().__init__()
            self.stack = []

        def handle_starttag(self, tag, attrs):
            if tag not in ("meta", "link"):
                self.stack.append(tag)

        def handle_endtag(self, tag):
            assert self.stack.pop() == tag

    parser = Parser()
    parser.feed(render_finding(record))
    assert parser.stack == []


def test_marks_stand_in_the_order_of_their_losses(record):
    marks, ticks = ladder_marks(record)
    assert [mark.x for mark in marks] == sorted(mark.x for mark in marks)
    assert all(LEFT <= mark.low <= mark.x <= mark.high <= RIGHT for mark in marks)
    assert [mark.kind for mark in marks].count("kept") == 1
    assert len(ticks) == 5


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


def test_the_spectrum_is_drawn_inside_its_picture(record):
    curve = spectrum_curve(record)
    assert curve is not None
    points = [
        tuple(map(float, pair.split(","))) for pair in re.findall(r"[\d.]+,[\d.]+", curve.path)
    ]
    assert all(20 <= x <= 400 and 15 <= y <= 180 for x, y in points)
    assert min(y for _, y in points) == 15
    page = render_finding(record)
    assert page.count('class="spectrum"') == 1
    assert spectrum_curve(record.model_copy(update={"spectrum": None})) is None
    without = render_finding(record.model_copy(update={"spectrum": None, "predictions": ()}))
    assert 'class="spectrum"' not in without
