"""Plots as values: what is in them, and how they are drawn in files."""

import json
import re

from pgso.objectives import OBJECTIVES
from pgso.report.comparison import compare
from pgso.report.plots import (
    curve_plots,
    draw_figure,
    operator_plots,
    score_plots,
    write_figures,
)
from pgso.report.sections import Page, Section, as_html
from pgso.report.tables import curve_grids
from tests.report.records import make_record, make_runs

DENSITY = {"grid": [-1.0, 0.0, 1.0], "density": [0.0, 1.0, 0.0], "error": [0.0, 0.1, 0.0]}


def page_plots(runs):
    comparison = compare(runs)
    grids = curve_grids(runs, comparison.objective)
    return score_plots(runs, comparison) + curve_plots(runs, comparison.objective, grids)


def test_every_plot_is_written_in_three_formats(tmp_path):
    runs = make_runs({"fixed": [0.5, 0.6], "mpgso": [0.7, 0.9]})
    spectra = {"start": [DENSITY] * 2, "learned": [DENSITY] * 2}
    runs[-1] = runs[-1].model_copy(update={"spectra": spectra})
    written = write_figures(runs, page_plots(runs), tmp_path)
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
    assert not any(operator_plots([fixed]).values())
    counts = {name: len(plots) for name, plots in operator_plots([directed]).items()}
    assert counts == {"parameters": 1, "interval": 0, "density": 0}
    failed = make_record("pgso", 0, None, curves={}, epoch=None, status="failed")
    assert score_plots([failed], compare([failed])) == []
    assert curve_grids([failed], OBJECTIVES["accuracy"]) == {}


def test_many_operators_are_drawn_in_rows():
    run = make_record("mpgso", 0, 0.5)
    many = run.model_copy(
        update={
            "parameters": run.parameters * 3,
            "curves": {"parameters": [each * 3 for each in run.curves["parameters"]]},
        }
    )
    assert len(draw_figure(operator_plots([many])["parameters"]).axes) == 6


def test_the_same_records_give_the_same_bytes(tmp_path):
    runs = [make_record("fixed", 0, 0.5, curves={}, choices={"dataset": "costs $5_x$"})]
    for folder in ("one", "two"):
        write_figures(runs, page_plots(runs), tmp_path / folder)
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes(), path.name


def test_the_page_and_the_figure_draw_the_same_points():
    runs = make_runs({"fixed": [0.5, 0.6], "pgso": [0.7, 0.9]})
    for plot in page_plots(runs):
        page = Page("toy", "", (Section("one", panels=(plot,)),), scripts=("plot.js",))
        found = re.search(r'id="data">(.*?)</script>', as_html(page))[1]
        spec, (axes,) = json.loads(found)["plots"][plot.name], draw_figure([plot]).axes
        drawn = [line.get_xydata().round(4).tolist() for line in axes.lines]
        for series in spec["series"]:
            assert [[round(float(v), 4) for v in point] for point in series["points"]] in drawn
        assert len(spec["means"]) == len(plot.means) == len(axes.containers)
