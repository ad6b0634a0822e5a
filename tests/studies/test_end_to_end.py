"""Each study at toy size: it runs, it resumes, and its page comes from its records."""

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pgso.cli.main import app
from pgso.data import DATASETS
from pgso.data.places import data_root
from pgso_studies.ledger import read_ledger
from pgso_studies.study import EXPERIMENTS, Size


def call(*words: str) -> str:
    result = CliRunner().invoke(app, list(words), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def needs(name: str) -> set[str]:
    """The datasets of a study whose files are not here."""
    specs = EXPERIMENTS[name].runs(Size.QUICK, {})
    return {spec.dataset for spec in specs if DATASETS[spec.dataset].missing(data_root())}


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_runs_resumes_and_shows(name: str, tmp_path: Path):
    if needs(name):
        pytest.skip(f"files of {needs(name)} are absent")
    places = ["--out", str(tmp_path / "runs"), "--results", str(tmp_path / "results")]
    call("run", name, "--quick", "--workers", "1", *places)
    ledger = tmp_path / "results" / name / "records.jsonl"
    first = ledger.read_text()
    specs = EXPERIMENTS[name].runs(Size.QUICK, read_ledger(ledger))
    assert {spec.key for spec in specs} == set(read_ledger(ledger))

    shutil.rmtree(tmp_path / "runs", ignore_errors=True)  # the ledger alone says what is done
    call("run", name, "--quick", "--workers", "1", *places)
    assert ledger.read_text() == first
    assert not (tmp_path / "runs").exists()

    call("report", name, "--results", str(tmp_path / "results"))
    page = (tmp_path / "results" / name / "page.md").read_text()
    assert page.startswith("# ")
    if (second := EXPERIMENTS[name].also_at) is not None:
        assert (tmp_path / "results" / second).read_text() == page
    for line in page.splitlines():
        if line.startswith("!["):
            assert (tmp_path / "results" / name / line.split("(")[1].rstrip(")")).exists()


def test_a_report_without_records_says_what_to_run(tmp_path: Path):
    result = CliRunner().invoke(app, ["report", "initialisations", "--results", str(tmp_path)])
    assert result.exit_code != 0
    assert "pgso run initialisations" in f"{result.output}{result.exception}"
