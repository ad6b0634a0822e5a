"""What the README and the guides show works: code, commands, and the things they name."""

import json
import re
import shlex
import sys
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import pgso
from pgso.cli.main import loaded_commands
from pgso.convs import CONVS
from pgso.data import DATASETS
from pgso.finding.rungs import FAMILIES
from pgso.objectives import OBJECTIVES
from pgso_studies.study import EXPERIMENTS
from tests.registries import restored

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
RUN_ELSEWHERE = {
    path.name
    for path in PAGES
    for test in (ROOT / "tests").rglob("test_guide.py")
    if f"docs/{path.name}" in test.read_text()
}


def blocks(page, language):
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), flags=re.DOTALL)


@pytest.fixture
def _registries_as_they_were():
    with ExitStack() as stack:
        for registry in (CONVS, DATASETS, EXPERIMENTS, FAMILIES, OBJECTIVES):
            stack.enter_context(restored(registry))
        yield


@pytest.mark.usefixtures("_registries_as_they_were")
@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page.name not in RUN_ELSEWHERE and blocks(page, "python")],
    ids=lambda page: page.name,
)
def test_the_code_runs_in_an_empty_folder(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = "\n".join(blocks(page, "python"))
    guide = ModuleType("guide")  # classes want a module to belong to
    monkeypatch.setitem(sys.modules, "guide", guide)
    exec(compile(code, str(page), "exec"), vars(guide))


COMMANDS = [
    line.removeprefix(".venv/bin/")
    for page in PAGES
    for block in [*blocks(page, "bash"), *blocks(page, "")]
    for line in block.splitlines()
]


@pytest.mark.parametrize("line", sorted({line for line in COMMANDS if line.startswith("pgso ")}))
def test_commands_and_their_options_exist(line):
    _, name, *words = shlex.split(line, comments=True)
    known = loaded_commands()
    assert name in known
    options = {option for parameter in known[name].params for option in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= options


@pytest.mark.parametrize("line", sorted({line for line in COMMANDS if line.startswith("make ")}))
def test_targets_of_make_exist(line):
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    assert set(shlex.split(line, comments=True)[1:]) <= set(targets)


GENERATED = ("command_line.md", "run_choices.md", "changes.md")  # by docs/hooks


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for link, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", page.read_text()):
        if link in GENERATED:
            continue
        target = page.parent / link if link else page
        assert target.exists(), link
        assert not anchor or anchor in headings(target), f"{link}#{anchor}"


def headings(page):
    """The anchors of a page."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(), flags=re.MULTILINE)
    return {re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", title.lower())) for title in titles}


API = "\n".join(page.read_text() for page in (ROOT / "docs" / "api").glob("*.md"))
DOCUMENTED = set(re.findall(r"^::: (.+)$", API, flags=re.MULTILINE))
GUIDES = [*PAGES, *sorted((ROOT / "examples").glob("*.py"))]


def is_in_the_api(home, name):
    value = getattr(import_module(home), name)
    module = getattr(value, "__module__", home)
    return (
        {f"{module}.{name}", module} & DOCUMENTED or f"`{name}`" in API or f"`pgso.{name}`" in API
    )


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.name)
def test_what_a_guide_imports_is_in_the_api(page):
    for home, names in re.findall(r"^from (pgso[\w.]*) import (.+)$", page.read_text(), flags=re.M):
        for name in names.split(", "):
            assert not name.startswith("_")
            assert home == "pgso" or is_in_the_api(home, name), f"{home}.{name}"


@pytest.mark.parametrize(
    "name", [name for name in pgso.__all__ if name not in ("bases", "spectrum")]
)
def test_every_public_name_is_in_the_api(name):
    assert is_in_the_api("pgso", name)


ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text()


def test_the_tree_has_every_folder_and_every_file_of_gso_and_no_other():
    package = ROOT / "src" / "pgso"
    parts = [f"{path.parent.name}/" for path in package.glob("*/__init__.py")]
    parts += [path.name for path in (*package.glob("[a-z]*.py"), *package.glob("gso/[a-z]*.py"))]
    assert [part for part in parts if f"`{part}`" not in ARCHITECTURE] == []
    rows = re.findall(r"^\| `(\w+)/`.*\| ([^|]*) \|$", ARCHITECTURE, flags=re.M)
    for folder, read_first in rows:
        for name in re.findall(r"`([^`]+)`", read_first):
            assert (package / folder / name).exists(), f"{folder}/{name}"
    gso = ARCHITECTURE.partition("| `src/pgso/gso/` |")[2].partition("\n## ")[0]
    for name in re.findall(r"`(\w+\.py)`", gso):
        assert (package / "gso" / name).exists(), name


MAP = (ROOT / "docs" / "studies.md").read_text()


def test_the_objects_of_the_paper_map_exist():
    for name in set(re.findall(r"`(pgso(?:\.\w+)+)`", MAP)):
        parts = name.split(".")
        for cut in range(len(parts), 0, -1):
            try:
                actual = import_module(".".join(parts[:cut]))
            except ModuleNotFoundError:
                continue
            for part in parts[cut:]:
                actual = getattr(actual, part)
            break


def test_the_tests_of_the_paper_map_exist():
    for name in set(re.findall(r"`(tests/[\w/]+\.py)`", MAP)):
        assert (ROOT / name).is_file(), name


def test_every_study_of_the_paper_is_in_the_paper_map():
    ours = {name for name, study in EXPERIMENTS.items() if study.paper.startswith("Beyond")}
    assert set(re.findall(r"`results/(\w+)/page\.md`", MAP)) >= set(EXPERIMENTS) - ours


def test_the_table_of_scale_is_what_was_measured():
    measured = json.loads((ROOT / "results" / "scale.json").read_text())
    page = (ROOT / "results" / "scale" / "page.md").read_text()
    for power in (5, 6, 7, 8):
        row = measured[f"product {10**power}"]
        step = row["step_cpu_seconds"]
        expected = (
            f"| 10^{power} | {step:.2g} s | {1e9 * step / row['edges']:.0f} "
            f"| {row['step_peak_gib']:.1f} GiB | {row['building_cpu_seconds']:.2g} s "
            f"| {row['building_peak_gib']:.1f} GiB | {row['sampled_epoch_cpu_seconds']:.2g} s |"
        )
        assert expected in page, expected
    assert f"| ≤ 1.1 | {measured['slope']:.2f} |" in page


def test_the_page_of_find_counts_the_candidates_that_pay():
    measured = json.loads((ROOT / "results" / "find" / "candidates.json").read_text())
    rows = measured["rows"]
    better = [row["dataset"] for row in rows if row["loss"] < row["rung_loss"]]
    page = " ".join((ROOT / "results" / "find" / "page.md").read_text().split())
    assert f"revision {measured['ladder']} of the ladder" in page
    assert f"on {len(better)} of {len(rows)} graphs, {' and '.join(sorted(better))};" in page
