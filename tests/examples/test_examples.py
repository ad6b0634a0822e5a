"""Every example runs at toy size, says something, and is short enough to read."""

import runpy
import sys
import tempfile
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


def test_there_are_examples():
    assert len(EXAMPLES) >= 6


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_it_runs_at_toy_size_in_an_empty_folder(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(sys, "argv", [path.name, "--toy"])
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out.strip()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_it_is_under_sixty_lines_and_says_how_to_run_it(path):
    text = path.read_text()
    assert len(text.splitlines()) < 60
    assert f"python examples/{path.name}" in text
