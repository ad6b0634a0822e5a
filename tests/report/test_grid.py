import csv
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
    console.print(grid)
    shown = console.file.getvalue()
    assert "< 0.001" in shown
    assert all(word in shown for word in ("self", "and", "two", "hops", "chance"))


def test_names_that_a_spreadsheet_would_run_are_quoted_and_numbers_are_not():
    numbers = ("-2.5", "+0.0", "-1e-05", "-1,234", "-2.5 to 3.1", "-0.1 (-0.2 to 0.1)",
               "+1.2 [-0.1, 2.5]", "-3 %")  # fmt: skip
    formulas = ("-1+1", "-1+cmd|' /C calc'!A0", "+1 (=A1)", "=1", "@A1", "-x", "-1 to A1")
    cells = Grid("t", ("name",), tuple((cell,) for cell in (*numbers, *formulas))).to_csv()
    read = [row[0] for row in csv.reader(StringIO(cells))][1:]
    assert read == [*numbers, *(f"'{cell}" for cell in formulas)]
