"""The site builds with --strict, works offline, and docstrings arrive as Markdown."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pgso.cli.main import loaded_commands
from pgso.records import RunSpec

ROOT = Path(__file__).parents[2]
pytest.importorskip("mkdocs", reason="the extra docs is not installed")


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


REST = load(ROOT / "docs" / "hooks" / "rest.py")
FORMULAS = load(ROOT / "docs" / "hooks" / "formulas.py")
REFERENCE = load(ROOT / "docs" / "hooks" / "reference.py")
FETCHED = re.compile(r'<(?:script|img|iframe|link)[^>]*(?:src|href)="?(?:https?:)?//[^>]*>')


@pytest.fixture
def project(tmp_path):
    """What the site is made of, and a study that has a page with a figure."""
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    for file in ("mkdocs.yml", "CHANGELOG.md", "README.md"):
        shutil.copy(ROOT / file, tmp_path)
    (tmp_path / "src").symlink_to(ROOT / "src")
    for page in (ROOT / "results").glob("*/page.md"):
        shutil.copytree(page.parent, tmp_path / "results" / page.parent.name)
    for written in ("scale.json", "scale.png", "CLAIMS.md"):
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
    assert 'href="results/operators/page.html"' in (site / "studies.html").read_text()
    assert 'href="results/CLAIMS.html"' in (site / "studies.html").read_text()
    assert "Does the graph help at all, and how?" in (site / "index.html").read_text()
    listed = re.findall(r"\]\(([^)]+)\)", (site / "llms.txt").read_text())
    assert "find.md" in listed
    assert all((site / page).read_text().strip() for page in listed)  # Markdown twins
    for page in site.rglob("*.html"):  # opened from a folder, offline
        assert FETCHED.findall(page.read_text()) == [], page
    assert "0.1.0" in (site / "changes.html").read_text()
    assert "<code>--seeds</code>" in (site / "command_line.html").read_text()
    assert "<code>hidden_channels</code>" in (site / "run_choices.html").read_text()
    assert '<math xmlns="http://www.w3.org/1998/Math/MathML" display="block">' in api
    assert "\\[" not in api


def test_formulas_and_roles_become_markdown():
    text = "Head.\n\n.. math::\n    a + b,\n    c\n\nSee :class:`~pgso.PGSO` and ``x``.\n"
    assert REST.to_markdown(text) == "Head.\n\n\n$$\na + b,\nc\n$$\n\nSee `pgso.PGSO` and `x`."


def test_formulas_are_drawn_by_the_browser_itself():
    actual = FORMULAS.on_page_content(r'on <span class="arithmatex">\(x_1 &lt; 2\)</span>.')
    assert "<msub><mi>x</mi><mn>1</mn></msub><mo>&#x0003C;</mo><mn>2</mn>" in actual
    assert actual.startswith('on <span class="arithmatex"><math ')
    assert actual.endswith("</math></span>.")


def test_examples_get_the_heading_that_is_rendered_as_code():
    assert REST.to_markdown("Example:\n    >>> 1") == "Examples:\n    >>> 1"


def test_the_reference_has_every_command_with_its_options():
    page = REFERENCE.command_line()
    for name, command in loaded_commands().items():
        section = page.split(f"## pgso {name}\n")[1].split("\n## ")[0]
        for parameter in command.params:
            assert all(f"`{option}`" in section for option in parameter.opts if option[0] == "-")


def test_the_table_of_choices_has_every_field_with_its_values_and_what_it_means():
    page = REFERENCE.run_choices()
    for name in RunSpec.model_fields:
        assert f"| `{name}` | " in page
    assert "| `norm` | batch \\| layer \\| None | `None` |" in page
    assert "| `hidden_channels` | int | `64` |" in page
    assert "Where weight decay pulls S" in page
    assert all(field.description for field in RunSpec.model_fields.values())
