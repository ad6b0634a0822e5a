"""The README as a package index shows it: no link that leads nowhere."""

import importlib.util
import re
from pathlib import Path

import pytest

pytest.importorskip("hatchling", reason="hatchling builds the package, and is not installed")

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


@pytest.fixture(scope="module")
def hook():
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def links(text):
    return re.findall(r"\]\(([^)\s]+)\)", text)


def test_without_an_address_the_words_stay_and_the_links_go(hook):
    text = hook.for_an_index(README, None)
    assert all(link.startswith("http") for link in links(text))
    assert "What we found" in text


def test_with_an_address_all_links_are_absolute(hook):
    text = hook.for_an_index(README, "https://example.org/pgso")
    assert len(links(text)) == len(links(README)) > 10
    assert all(link.startswith("https://") for link in links(text))
    assert "![The verdict on minesweeper" in text
    assert "](https://example.org/pgso/raw/main/docs/assets/find.png)" in text


def test_the_package_gets_this_description(hook):
    address = "https://code.example.com/pgso"
    metadata = {"urls": {"Repository": address}}
    hook.ReadmeHook(str(ROOT), {}).update(metadata)
    assert metadata["readme"]["text"] == hook.for_an_index(README, address)


def test_a_placeholder_is_not_taken_for_an_address(hook):
    for urls in ({}, {"Repository": "https://example.org/pgso"}):
        metadata = {"urls": urls}
        hook.ReadmeHook(str(ROOT), {}).update(metadata)
        assert metadata["readme"]["text"] == hook.for_an_index(README, None)
