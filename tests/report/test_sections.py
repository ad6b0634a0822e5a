"""What goes into a page is escaped, and what comes out of it can be opened safely."""

import base64
import csv

from pgso.report.grid import Grid
from pgso.report.sections import Page, Section, Verdict, as_html, as_markdown, download, file_name

HOSTILE = '"><script>alert(1)</script>'


def test_cells_titles_and_links_are_escaped():
    grid = Grid(HOSTILE, (HOSTILE, "b"), ((HOSTILE, "x"),), HOSTILE, {"x": HOSTILE})
    page = as_html(Page(HOSTILE, HOSTILE, (Section(HOSTILE, panels=(grid,)),)))
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


def test_the_text_has_the_tables_of_the_page_and_what_it_says_first():
    grid = Grid("Scores", ("model", "test"), (("a", "81.5"),), "Means.")
    page = Page(
        heading="toy",
        words={"S": "seven scalars"},
        lead="A lead.",
        verdict=Verdict("learn it", "a gain", "good", ("few seeds",), ("a note",)),
        sections=(
            Section("Scores by seed", "A text.", panels=(grid,)),
            Section("Again", code=(("Type:", "pgso compare toy"),), folded=(grid,)),
        ),
    )
    html, text = as_html(page), as_markdown(page, ["figures/scores.png"])
    for words in ("81.5", "learn it", "few seeds", "a note", "A text.", "pgso compare toy"):
        assert words in html
        assert words in text
    assert "seven scalars" in html
    assert "![scores](figures/scores.png)" in text
    assert html.count("<script") == 2  # what is drawn, and what draws it
