from io import StringIO

from rich.console import Console

from pgso.report.grid import Grid, table


def test_columns_of_numbers_stand_on_the_right():
    rows = [("a", "1"), ("b", "2")]
    assert table(("", "n"), rows) == "|  | n |\n|---|---|\n| a | 1 |\n| b | 2 |"
    assert table(("", "n"), rows, numbers=True).splitlines()[1] == "| --- | ---: |"


def test_a_grid_escapes_what_its_cells_say():
    grid = Grid("A title", ("name", "n"), (("a|b_c", "1"),), "How to read it")
    assert grid.to_markdown() == (
        "### A title\n\n| name | n |\n| --- | ---: |\n| a\\|b\\_c | 1 |\n\nHow to read it\n"
    )


def test_in_a_narrow_terminal_names_wrap_and_no_number_is_cut():
    grid = Grid(
        "The ladder", ("rung", "loss", "chance"), (("self and two hops", "0.08", "< 0.001"),)
    )
    console = Console(width=24, file=StringIO())
    console.print(grid.to_rich())
    shown = console.file.getvalue()
    assert "< 0.001" in shown
    assert all(word in shown for word in ("self", "and", "two", "hops", "chance"))
