"""The site builds with --strict, works offline, and docstrings arrive as Markdown."""

import importlib.util
import os
import re
import shutil
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
FORMULAS = load(ROOT / "docs" / "hooks" / "formulas.py")
FETCHED = re.compile(r'<(?:script|img|iframe|link)[^>]*(?:src|href)="?(?:https?:)?//[^>]*>')


@pytest.fixture
def project(tmp_path):
    """What the site is made of, and a study that has a page with a figure."""
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    (tmp_path / "src").symlink_to(ROOT / "src")
    for page in (ROOT / "results").glob("*/page.md"):
        shutil.copytree(page.parent, tmp_path / "results" / page.parent.name)
    for written in ("scale.json", "scale.png"):
        shutil.copy(ROOT / "results" / written, tmp_path / "results")
    study = tmp_path / "results" / "operators"
    (study / "figures").mkdir(parents=True, exist_ok=True)
    (study / "figures" / "drawn.png").touch()
    (study / "page.md").write_text("# A study\n\n![drawn](figures/drawn.png)\n")
    return tmp_path


def test_the_site_builds_without_a_warning(project):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]  # with -q it counts no warnings
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, env=quiet)
    assert done.returncode == 0, done.stderr
    site = project / "site"
    api = (site / "api" / "operator.html").read_text()
    assert "Equation (1)" in api
    assert ".. math::" not in api
    assert ":func:" not in api
    assert "A study" in (site / "results" / "operators" / "page.html").read_text()
    assert (site / "results" / "operators" / "figures" / "drawn.png").is_file()
    assert 'href="results/operators/page.html"' in (site / "paper_map.html").read_text()
    for page in site.rglob("*.html"):  # opened from a folder, offline
        assert FETCHED.findall(page.read_text()) == [], page
    assert '<math xmlns="http://www.w3.org/1998/Math/MathML" display="block">' in api
    assert "\\[" not in api


def test_formulas_and_roles_become_markdown():
    text = "Head.\n\n.. math::\n    a + b,\n    c\n\nSee :class:`~pgso.PGSO` and ``x``.\n"
    assert REST.to_markdown(text) == "Head.\n\n\n$$\na + b,\nc\n$$\n\nSee `pgso.PGSO` and `x`."


def test_formulas_are_drawn_by_the_browser_itself():
    found = FORMULAS.on_page_content(r'on <span class="arithmatex">\(x_1 &lt; 2\)</span>.')
    assert "<msub><mi>x</mi><mn>1</mn></msub><mo>&#x0003C;</mo><mn>2</mn>" in found
    assert found.startswith('on <span class="arithmatex"><math ')
    assert found.endswith("</math></span>.")


def test_examples_get_the_heading_that_is_rendered_as_code():
    assert REST.to_markdown("Example:\n    >>> 1") == "Examples:\n    >>> 1"
