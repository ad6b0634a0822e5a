"""The site builds with --strict, and docstrings arrive as Markdown."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytest.importorskip("mkdocs", reason="the extra docs is not installed")


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


REST = load(ROOT / "docs" / "hooks" / "rest.py")


def test_the_site_builds_without_a_warning(tmp_path):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", str(tmp_path)]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=quiet)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "api" / "operator.html").read_text()
    assert "Equation (1)" in page
    assert ".. math::" not in page
    assert ":func:" not in page


def test_formulas_and_roles_become_markdown():
    text = "Head.\n\n.. math::\n    a + b,\n    c\n\nSee :class:`~pgso.PGSO` and ``x``.\n"
    assert REST.to_markdown(text) == "Head.\n\n\n$$\na + b,\nc\n$$\n\nSee `pgso.PGSO` and `x`."


def test_examples_get_the_heading_that_is_rendered_as_code():
    assert REST.to_markdown("Example:\n    >>> 1") == "Examples:\n    >>> 1"
