from pgso.objectives import OBJECTIVES
from pgso.report.comparison import compare
from pgso.report.figures import (
    draw_curves,
    draw_density,
    draw_intervals,
    draw_parameters,
    draw_scores,
    write_figures,
)
from tests.report.records import make_record, make_runs

DENSITY = {"grid": [-1.0, 0.0, 1.0], "density": [0.0, 1.0, 0.0], "error": [0.0, 0.1, 0.0]}


def test_every_plot_is_written_in_three_formats(tmp_path):
    runs = make_runs({"fixed": [0.5, 0.6], "mpgso": [0.7, 0.9]})
    spectra = {"start": [DENSITY] * 2, "learned": [DENSITY] * 2}
    runs[-1] = runs[-1].model_copy(update={"spectra": spectra})
    written = write_figures(runs, compare(runs), tmp_path)
    assert [path.stem for path in written] == [
        "scores",
        "curves",
        "parameters",
        "interval",
        "density",
    ]
    for path in written:
        assert path.read_bytes().startswith(b"\x89PNG")
        assert path.with_suffix(".pdf").read_bytes().startswith(b"%PDF")
        assert "<svg" in path.with_suffix(".svg").read_text()


def test_a_plot_without_numbers_is_not_drawn():
    fixed, directed = make_record("fixed", 0, 0.5), make_record("pgso", 0, 0.5, directed=True)
    assert draw_parameters([fixed]) is None
    assert draw_intervals([directed]) is None
    assert draw_density([directed]) is None
    assert draw_parameters([directed]) is not None
    failed = make_record("pgso", 0, None, curves={}, epoch=None, status="failed")
    assert draw_scores([failed], compare([failed])) is None
    assert draw_curves([failed], OBJECTIVES["accuracy"]) is None


def test_many_operators_are_drawn_in_rows():
    run = make_record("mpgso", 0, 0.5)
    many = run.model_copy(
        update={
            "parameters": run.parameters * 3,
            "curves": {"parameters": [each * 3 for each in run.curves["parameters"]]},
        }
    )
    assert len(draw_parameters([many]).axes) == 6


def test_the_same_records_give_the_same_bytes(tmp_path):
    runs = [make_record("fixed", 0, 0.5, curves={}, choices={"dataset": "costs $5_x$"})]
    for folder in ("one", "two"):
        write_figures(runs, compare(runs), tmp_path / folder)
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes(), path.name
