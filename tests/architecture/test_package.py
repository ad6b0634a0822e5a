"""What a wheel and a source archive hold, and whether an index would take them.

``make package`` also installs them into a fresh environment, which takes minutes.
"""

import re
import tarfile
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

pytest.importorskip("hatchling", reason="hatchling builds the package, and is not installed")
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder
from packaging.metadata import Metadata
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

import pgso

ROOT = Path(__file__).parents[2]
FOLDERS = {"pgso": ROOT, "pgso_studies": ROOT / "studies"}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.fixture(scope="module", params=FOLDERS)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def wheel(name, tmp_path_factory):
    return Path(
        *WheelBuilder(str(FOLDERS[name])).build(directory=str(tmp_path_factory.mktemp(name)))
    )


@pytest.fixture(scope="module")
def sdist(name, tmp_path_factory):
    return Path(
        *SdistBuilder(str(FOLDERS[name])).build(directory=str(tmp_path_factory.mktemp(name)))
    )


def metadata_of(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (path,) = (path for path in archive.namelist() if path.endswith(".dist-info/METADATA"))
        return Metadata.from_email(archive.read(path), validate=True)


def test_a_wheel_holds_the_package_and_nothing_else(name, wheel):
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
    files = {
        path.relative_to(package.parent).as_posix()
        for package in [*FOLDERS[name].glob(name), *FOLDERS[name].glob(f"src/{name}")]
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {path for path in held if ".dist-info/" not in path} == files
    assert wheel.stat().st_size < 2 * 2**20
    if name == "pgso":
        assert "pgso/py.typed" in files
        assert any(path.endswith(".js") for path in files)


def test_a_source_archive_builds_the_same_wheel_without_the_repository(wheel, sdist, tmp_path):
    with tarfile.open(sdist) as archive:
        held = {Path(*Path(path).parts[1:]).as_posix() for path in archive.getnames()}
        archive.extractall(tmp_path, filter="data")
    assert not {path for path in held if path.startswith(("tests/", "results/", "docs/"))}
    assert sdist.stat().st_size < 3 * 2**20
    (folder,) = tmp_path.iterdir()
    built = Path(*WheelBuilder(str(folder)).build(directory=str(tmp_path / "dist")))
    with zipfile.ZipFile(built) as ours, zipfile.ZipFile(wheel) as theirs:
        assert sorted(ours.namelist()) == sorted(theirs.namelist())


def test_an_index_would_take_the_metadata(name, wheel):
    metadata = metadata_of(wheel)
    assert metadata.name.replace("-", "_") == name
    assert metadata.author == "The pgso developers"
    assert metadata.license_expression == "MIT"
    assert metadata.description_content_type == "text/markdown"
    assert not re.search(r"\]\((?!https?:|#)", metadata.description)
    assert "3.11" in metadata.requires_python


def test_a_wheel_says_what_it_is_found_by(name, wheel):
    with zipfile.ZipFile(wheel) as archive:
        (path,) = (path for path in archive.namelist() if path.endswith("/entry_points.txt"))
        points = archive.read(path).decode()
    assert ("pgso = pgso.__main__:main" in points) == (name == "pgso")
    assert ("[pgso.studies]" in points) == (name == "pgso_studies")


def test_python_versions_are_those_that_the_workflows_run():
    listed = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    workflow = (ROOT / ".github" / "workflows" / "tests.yml").read_text()
    assert listed == re.findall(r'"(3\.\d+)"', workflow.partition("python: [")[2].partition("]")[0])


def test_the_oldest_versions_are_the_lowest_of_the_ranges():
    lines = (ROOT / "constraints-oldest.txt").read_text().splitlines()
    oldest = dict(line.split("==") for line in lines if not line.startswith("#"))
    for text in PROJECT["dependencies"]:
        requirement = Requirement(text)
        (lowest,) = (part.version for part in requirement.specifier if part.operator == ">=")
        if requirement.name == "torch":  # only this one can be installed where the tests run
            assert requirement.specifier.contains(oldest["torch"])
        else:
            assert oldest[requirement.name] == lowest, text


def test_the_pinned_versions_install_on_the_first_python_3_11():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pinned = dict(line.split("==") for line in lines if "==" in line)
    for found in metadata.distributions():
        if pinned.get(found.name) == found.version:
            versions = SpecifierSet(found.metadata["Requires-Python"] or "")
            assert versions.contains("3.11.0"), found.name


def test_workflows_call_targets_that_the_makefile_has():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.M))
    for workflow in (ROOT / ".github" / "workflows").glob("*.yml"):
        for line in re.findall(r"- run: make (.*)", workflow.read_text()):
            called = {word for word in line.split("${{")[0].split() if "=" not in word}
            assert called <= targets, workflow.name


def test_the_citation_is_complete_and_of_this_version():
    yaml = pytest.importorskip("yaml")
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors", "license"} <= set(cited)
    assert cited["version"] == pgso.__version__
    paper = cited["preferred-citation"]
    assert {"type", "title", "authors", "year"} <= set(paper)
    assert [author["family-names"] for author in paper["authors"]] == [
        "Dasoulas",
        "Lutzeyer",
        "Vazirgiannis",
    ]
