"""One page over a folder of runs, made from records alone."""

import json
import re

import pytest

from pgso import find
from pgso.records import Store
from pgso.report.overview import write_overview
from pgso.report.page import write_report, write_run
from tests.report.data import make_data
from tests.report.records import THREE, make_record, make_runs

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A comparison, a finding and a run, with names that want to be tags."""
    root = tmp_path_factory.mktemp("runs")
    store = Store(root)
    runs = make_runs(THREE, choices={"dataset": HOSTILE})
    for run in runs:
        store.put(run)
    data = [make_data(seed, HOSTILE) for seed in range(4)]
    for known in data:
        store.put_data(known)
    write_report(runs, root / "toy-gcn", data, command="pgso compare toy", store=store)
    alone = make_record("pgso", 9, 0.9)
    store.put(alone)
    write_run(alone, store)
    finding = find("karate").record
    finding.write(root / "find-karate-0" / "finding.json")
    (root / "broken").mkdir()
    (root / "broken" / "comparison.json").write_text("{")
    return root


def test_everything_in_the_folder_is_listed_and_every_link_leads_somewhere(folder):
    path = write_overview(folder)
    page = path.read_text()
    assert path == folder / "index.html"
    assert re.findall(r"<h2>(\w+) <span class=\"quiet\">(\d+)", page) == [
        ("Findings", "1"), ("Comparisons", "1"), ("Runs", "13"),
    ]  # fmt: skip
    links = [
        link for link in re.findall(r'href="([^"]+)"', page) if link[:5] not in ("data:", "#main")
    ]
    assert len(links) == 15
    assert all((folder / link).is_file() for link in links)
    assert sum(link.endswith(".html") for link in links) == 3  # comparison, finding, one run
    assert "<img" not in page
    compared = page.partition("Comparisons")[2].partition("</thead>")[0]
    assert "mPGSO" in compared
    assert "auto" not in compared  # no comparison has it
    assert "&lt;img" in page


def test_a_dataset_with_the_name_of_its_folder_is_no_link(tmp_path):
    write_report(make_runs(THREE), tmp_path / "toy")
    page = write_overview(tmp_path).read_text()
    assert page.count('href="toy/report.html"') == 1


def test_pages_are_drawn_again_and_records_stay_as_they_are(folder):
    record, report = (folder / "toy-gcn" / name for name in ("comparison.json", "report.html"))
    before = record.stat().st_mtime_ns, report.read_text()
    report.unlink()
    write_overview(folder)
    assert (record.stat().st_mtime_ns, report.read_text()) == before
    assert (folder / "find-karate-0" / "report.html").is_file()


def test_a_comparison_says_what_its_page_says(folder):
    output = json.loads((folder / "toy-gcn" / "comparison.json").read_text())
    page = (folder / "toy-gcn" / "report.html").read_text()
    assert output["verdict"].startswith("learn the operator")
    assert output["verdict"].split(": ")[1] in page
    assert [entry["name"] for entry in output["baselines"]] == ["guess", "features", "graph"]
    assert any("training examples" in doubt for doubt in output["doubts"])
    assert len(output["runs"]) == 12


def test_a_folder_without_runs_has_no_overview(tmp_path):
    assert write_overview(tmp_path) is None
    assert list(tmp_path.iterdir()) == []


def test_a_comparison_whose_runs_have_another_revision_now_is_listed_as_it_was(tmp_path):
    store, runs = Store(tmp_path), make_runs(THREE)
    for run in runs:
        store.put(run)
    page = write_report(runs, tmp_path / "toy-gcn", store=store)
    before = page.read_text()
    store.put(runs[0].model_copy(update={"numerics": runs[0].numerics + 1, "test": 0.1}))
    assert "learn the operator" in write_overview(tmp_path).read_text()
    assert page.read_text() == before


def test_a_comparison_without_scores_is_listed(folder, tmp_path):
    edited = json.loads((folder / "toy-gcn" / "comparison.json").read_text())
    edited |= {"scores": {}, "runs": ["gone"]}
    (tmp_path / "toy-gcn").mkdir()
    (tmp_path / "toy-gcn" / "comparison.json").write_text(json.dumps(edited))
    assert "Comparisons" in write_overview(tmp_path).read_text()


def test_a_renamed_record_does_not_stop_the_others(tmp_path):
    store = Store(tmp_path)
    for seed in range(2):
        store.put(make_record("pgso", seed, 0.9))
    path = store.path(make_record("pgso", 0, 0.9).spec)
    path.rename(path.with_name("renamed.json"))
    text = write_overview(tmp_path).read_text()
    assert store.path(make_record("pgso", 1, 0.9).spec).stem in text
