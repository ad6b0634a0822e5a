"""The README's picture and excerpt come from one record, and are what that record says."""

import html
import importlib.util
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("find_figure", ROOT / "docs" / "figures" / "find.py")
FIGURE = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(FIGURE)
RECORD = FIGURE.read_finding(FIGURE.RECORD)


def test_the_excerpt_in_the_readme_is_that_of_the_record():
    readme = FIGURE.README.read_text()
    assert FIGURE.with_excerpt(readme, RECORD) == readme
    assert RECORD.verdict[:40] in readme.replace("\n", " ")


def test_the_record_draws_the_board_and_the_ladder():
    figure = FIGURE.draw(RECORD)
    board, ladder = figure.axes[:2]
    assert len(board.collections[0].get_offsets()) == FIGURE.SIDE**2
    assert RECORD.best in [label.get_text() for label in ladder.get_yticklabels()]


def test_pictures_of_the_repository_are_small():
    pictures = [*(ROOT / "docs" / "assets").glob("*.png")]
    assert FIGURE.PICTURE in pictures
    assert all(path.stat().st_size < 300_000 for path in pictures)


def test_the_first_screen_asks_and_the_rendered_page_is_there():
    first = (ROOT / "README.md").read_text()[:600]
    assert "**Does the graph help at all, and how?**" in first
    page = html.unescape(FIGURE.PAGE.read_text())
    assert RECORD.verdict in page
    assert all(part in page for part in ("Baselines", "A node and its neighbours", "The data"))
    links = set(re.findall(r'href="(?!#|data:)([^"]+)"', page))
    assert links == {FIGURE.RECORD.name}
