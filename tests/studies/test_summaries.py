from pathlib import Path

import matplotlib as mpl

from pgso.records import RunRecord, RunSpec
from pgso.report.words import OPERATORS
from pgso_studies.classification import points
from pgso_studies.summaries import figure_of, legend_beside, panels, save


def test_a_figure_is_saved_for_screen_and_print_and_the_same_each_time(tmp_path: Path):
    def drawn(folder: Path) -> list[bytes]:
        axes = panels(4)
        for axis in axes:
            axis.plot([0, 1], [1, 2], label="a line")
        legend_beside(axes[-1])
        assert save(figure_of(axes), folder, "lines") == f"![lines]({folder.name}/lines.png)"
        return [(folder / f"lines.{form}").read_bytes() for form in ("png", "svg")]

    def settings() -> dict[str, object]:
        return {name: mpl.rcParams[name] for name in mpl.rcParams if name != "backend"}

    before = settings()
    first = drawn(tmp_path / "one")
    assert settings() == before
    assert first == drawn(tmp_path / "two")
    width = int.from_bytes(first[0][16:20], "big")
    assert width >= 1200  # 200 dots an inch of three panels


def test_figure_4_has_the_reports_colours_and_the_papers_marks(tmp_path: Path):
    records = [
        RunRecord(spec=RunSpec(dataset="Cora", operator=operator, seed=seed), test=0.8)
        for operator in ("fixed", "pgso", "mpgso")
        for seed in range(2)
    ]
    points(records, ["Cora"], tmp_path, "figure_4")
    svg = (tmp_path / "figure_4.svg").read_text()
    assert all(OPERATORS[name] in svg for name in ("fixed", "pgso", "mpgso"))
    assert "printed in the paper" in svg
