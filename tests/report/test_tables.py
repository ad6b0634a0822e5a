from io import StringIO

from rich.console import Console

from pgso.report.comparison import compare
from pgso.report.grid import Grid, markdown_text
from pgso.report.tables import operator_grids, scores_grid
from tests.report.records import GCN, MOVED, THREE, make_record, make_runs

RUNS = make_runs(THREE)


def printed(renderable, width=80):
    console = Console(width=width, record=True, file=StringIO())
    console.print(renderable)
    return console.export_text()


def test_the_comparison_fits_a_terminal_of_80_columns():
    beside = make_runs({"fixed": [0.6, 0.61, 0.7, 0.6]}, choices={"num_layers": 6})
    text = printed(scores_grid(compare(RUNS, beside), "test"))
    assert "+16.0 (14.3 to 17.7)" in text
    assert "+23.8 (" in text  # minus the stronger network
    assert "stronger" in text
    assert "…" not in text


def test_a_narrow_terminal_wraps_and_cuts_nothing():
    text = printed(scores_grid(compare(RUNS), "test"), width=30)
    assert all(len(line) <= 30 for line in text.splitlines())
    joined = " ".join(text.split())
    assert "mPGSO: seeds 4; mean ± sd 86.5 ± 1.3; minus fixed +16.0 (14.3 to 17.7)" in joined
    assert "…" not in text


def test_the_learned_operator_fits_a_terminal_of_80_columns():
    near = (("random_walk_laplacian", 0.5),) * 2
    runs = [*RUNS[:8], make_record("mpgso", 0, 0.5, nearest=near)]
    text = "\n".join(map(printed, operator_grids(runs)))
    assert "mPGSO, layer 2" in text
    assert "random_walk_laplacian" in text
    assert "-2.00 to 2.00" in text
    assert "…" not in text


def test_a_fixed_run_alone_has_no_learned_operator():
    grids = operator_grids([make_record("fixed", 0, 0.5)])
    assert [printed(grid) for grid in grids] == ["", ""]


def test_a_row_has_as_many_cells_as_the_header():
    ten = make_runs({name: [s + k / 50 for k, s in enumerate(v * 2)] for name, v in THREE.items()})
    grids = [*operator_grids(RUNS)]
    for runs in (RUNS, ten, RUNS[:4], RUNS[4:]):
        grids += [scores_grid(compare(runs), part) for part in ("test", "val")]
    for grid in grids:
        assert {len(row) for row in grid.rows} == {len(grid.header)}


def test_names_of_the_users_own_are_never_markup():
    grid = Grid("[red]x[/red]", ("a|b",), (("<b>`[link](x)`",),))
    assert "[red]x[/red]" in printed(grid)
    text = grid.to_markdown()
    assert "<b>" not in text
    assert r"a\|b" in text
    assert markdown_text("two\nlines") == "two lines"


def test_scores_in_a_unit_have_the_digits_that_tell_them_apart():
    runs = make_runs({"fixed": [0.912, 0.934], "pgso": [0.851, 0.876]}, metric="rmse")
    grid = scores_grid(compare(runs), "test")
    assert grid.title == "Test RMSE (lower is better)"
    assert grid.rows[0][2] == "0.923 ± 0.016"
    assert "points" not in grid.caption
    counts = make_runs({"fixed": [5123.4, 5200.0], "pgso": [4800.0, 4700.0]}, metric="mae")
    assert scores_grid(compare(counts), "test").rows[0][2] == "5162 ± 54"


def written(S):
    return tuple(f"{value:.2f}" for value in S)


def test_each_operator_of_each_mode_is_there_beside_its_start():
    learned, like = operator_grids(RUNS)
    assert learned.rows == (
        ("start", *written(GCN), "-1.00 to 1.00"),
        ("PGSO", *written(MOVED), "-2.00 to 2.00"),
        ("mPGSO, layer 1", *written(MOVED), "-2.00 to 2.00"),
        ("mPGSO, layer 2", *written(MOVED), "-2.00 to 2.00"),
    )
    assert like.rows[0] == ("PGSO", "gcn", "4 of 4", "0.25")
    directed, _ = operator_grids(make_runs({"pgso": [0.5]}, directed=True))
    assert [row[-1] for row in directed.rows] == ["–", "–"]


def test_the_nearest_operator_is_the_one_of_most_seeds():
    runs = [
        make_record("pgso", seed, 0.5, nearest=((name, 0.1 * seed),))
        for seed, name in enumerate(["gcn", "mean", "mean"])
    ]
    assert operator_grids(runs)[1].rows == (("PGSO", "mean", "2 of 3", "0.15"),)


def test_under_auto_the_seeds_are_kept_apart_by_what_they_chose():
    runs = [
        make_record("auto", seed, 0.5, chosen=chosen)
        for seed, chosen in enumerate(["fixed", "pgso", "pgso"])
    ]
    assert operator_grids(runs)[1].rows == (("auto (PGSO)", "gcn", "2 of 2", "0.25"),)


def test_seeds_with_networks_of_different_rungs_are_kept_apart():
    both = {
        "rung": "gcn in + out, 1 hop",
        "network": {"terms": ["gcn@in", "gcn@out"], "conv": "bank"},
        "start": (GCN,) * 2,
        "parameters": (MOVED, GCN),
        "nearest": (("gcn", 0.1),) * 2,
    }
    runs = [
        make_record("auto", 0, 0.5, chosen="pgso", directed=True, **both),
        make_record("auto", 1, 0.5, chosen="pgso", directed=True),
    ]
    learned, like = operator_grids(runs)
    assert [row[0] for row in learned.rows] == [
        "start",
        "auto (PGSO) in gcn in + out, 1 hop, gcn@in",
        "auto (PGSO) in gcn in + out, 1 hop, gcn@out",
        "auto (PGSO)",
    ]
    assert {row[2] for row in like.rows} == {"1 of 1"}
    assert learned.rows[2][1:8] == written(GCN)
