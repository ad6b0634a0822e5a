"""Pages are drawn again from records alone."""

import json

import pytest

from pgso import find
from pgso.records import Store
from pgso.report.page import draw_again, write_report
from tests.report.data import make_data
from tests.report.records import THREE, make_runs


@pytest.fixture
def folder(tmp_path):
    """A comparison, a finding, and what is damaged."""
    store, runs = Store(tmp_path), make_runs(THREE)
    for run in runs:
        store.put(run)
    data = [make_data(seed) for seed in range(4)]
    for known in data:
        store.put_data(known)
    write_report(runs, tmp_path / "toy-gcn", data, command="pgso compare toy", store=store)
    find("karate").record.write(tmp_path / "find-karate-0" / "finding.json")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "comparison.json").write_text("{")
    return tmp_path


def test_pages_are_drawn_again_and_records_stay_as_they_are(folder):
    record, report = (folder / "toy-gcn" / name for name in ("comparison.json", "report.html"))
    before = record.stat().st_mtime_ns, report.read_text()
    report.unlink()
    pages = draw_again(folder)
    assert pages == [folder / "find-karate-0" / "report.html", report]
    assert all(page.is_file() for page in pages)
    assert (record.stat().st_mtime_ns, report.read_text()) == before


def test_a_comparison_says_what_its_page_says(folder):
    output = json.loads((folder / "toy-gcn" / "comparison.json").read_text())
    page = (folder / "toy-gcn" / "report.html").read_text()
    assert output["verdict"].startswith("learn the operator")
    assert output["verdict"].split(": ")[1] in page
    assert [entry["name"] for entry in output["baselines"]] == ["guess", "features", "graph"]
    assert any("training examples" in doubt for doubt in output["doubts"])
    assert len(output["runs"]) == 12


def test_a_page_whose_runs_are_gone_or_of_another_revision_stays_as_it_is(folder):
    store, (run, *_) = Store(folder), make_runs(THREE)
    store.put(run.model_copy(update={"numerics": run.numerics + 1, "test": 0.1}))
    assert len(draw_again(folder)) == 1
    store.path(run.spec).unlink()
    assert len(draw_again(folder)) == 1


def test_a_folder_without_runs_has_no_pages(tmp_path):
    assert draw_again(tmp_path) == []
    assert list(tmp_path.iterdir()) == []
