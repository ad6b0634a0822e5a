"""Plots as values: what is in them, and how they are drawn in files."""

import json
import re

from pgso.objectives import OBJECTIVES
from pgso.report.comparison import compare
from pgso.report.sections import Page, Section, as_html, draw_figure, write_figures
from pgso.report.tables import scores_section, training_section
from tests.report.records import make_record, make_runs


def page_plots(runs):
    comparison = compare(runs)
    scores, training = scores_section(comparison), training_section(runs, comparison.objective)
    return [scores.panels[0], *training.panels]


def test_every_plot_is_written_in_three_formats(tmp_path):
    runs = make_runs({"fixed": [0.5, 0.6], "mpgso": [0.7, 0.9]})
    written = write_figures(page_plots(runs), tmp_path)
    assert [path.stem for path in written] == ["scores", "curve-loss", "curve-val", "curve-test"]
    for path in written:
        assert path.read_bytes().startswith(b"\x89PNG")
        assert path.with_suffix(".pdf").read_bytes().startswith(b"%PDF")
        assert "<svg" in path.with_suffix(".svg").read_text()


def test_a_plot_without_numbers_is_not_drawn():
    failed = make_record("pgso", 0, None, curves={}, epoch=None, status="failed")
    assert scores_section(compare([failed])).panels == ()
    assert training_section([failed], OBJECTIVES["accuracy"]).panels == ()


def test_the_same_records_give_the_same_bytes(tmp_path):
    runs = [make_record("fixed", 0, 0.5, curves={}, choices={"dataset": "costs $5_x$"})]
    for folder in ("one", "two"):
        write_figures(page_plots(runs), tmp_path / folder)
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes(), path.name


def test_the_page_and_the_figure_draw_the_same_points():
    runs = make_runs({"fixed": [0.5, 0.6], "pgso": [0.7, 0.9]})
    for plot in page_plots(runs):
        page = Page("toy", "", (Section("one", panels=(plot,)),))
        found = re.search(r'id="data">(.*?)</script>', as_html(page))[1]
        spec, (axes,) = json.loads(found)["plots"][plot.name], draw_figure(plot).axes
        drawn = [line.get_xydata().round(4).tolist() for line in axes.lines]
        for series in spec["series"]:
            assert [[round(float(v), 4) for v in point] for point in series["points"]] in drawn
        assert len(spec["means"]) == len(plot.means) == len(axes.containers)
