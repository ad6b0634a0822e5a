"""What goes into a page is escaped, and what comes out of it can be opened safely."""

import base64
import csv

from pgso.report.grid import Grid
from pgso.report.template import download, file_name, render

HOSTILE = '"><script>alert(1)</script>'


def test_cells_titles_and_links_are_escaped():
    grid = Grid(HOSTILE, (HOSTILE, "b"), ((HOSTILE, "x"),), HOSTILE, {"x": HOSTILE})
    page = render("overview.html.j2", ("overview.js",), grids=[grid], heading=HOSTILE)
    assert "<script>alert" not in page
    assert page.count("<script>") == 1


def test_a_downloaded_table_is_the_table_and_runs_nothing_in_a_spreadsheet():
    grid = Grid("t", ("name", "value"), (("=HYPERLINK(1)", "-2.5"), ("@x", "+1.0"), ("é", "–")))
    text = base64.b64decode(download(grid).partition("base64,")[2]).decode()
    rows = list(csv.reader(text.splitlines()))
    assert rows == [["name", "value"], ["'=HYPERLINK(1)", "-2.5"], ["'@x", "+1.0"], ["é", "–"]]


def test_every_title_gives_a_name_of_a_file():
    assert [file_name(text) for text in ("Test accuracy, %", "../x", "%")] == [
        "test-accuracy",
        "x",
        "table",
    ]
