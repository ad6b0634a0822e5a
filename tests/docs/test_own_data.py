"""Every example of a shape of data is read as the guide says, by the options that it shows."""

import re
import shlex
from pathlib import Path

import pytest

from pgso.cli.choices import pairs
from pgso.data import load_task

PAGE = (Path(__file__).parents[2] / "docs" / "own_data.md").read_text()
EXAMPLES = PAGE.partition("\n## One small example of every shape\n")[2]
SECTIONS = {text.partition("\n")[0]: text for text in EXAMPLES.split("\n### ")[1:]}
FILE = re.compile(r'^```csv title="(\w+\.csv)"\n(.*?)^```', flags=re.MULTILINE | re.DOTALL)


def block(text, kind):
    return re.search(rf"^```{kind}\n(.*?)\n```", text, flags=re.MULTILINE | re.DOTALL)[1]


@pytest.mark.parametrize("title", SECTIONS)
def test_an_example_becomes_what_the_page_says(title, tmp_path):
    folder = tmp_path / "example"
    folder.mkdir()
    files = FILE.findall(SECTIONS[title])
    assert files
    if "With the `labels.csv` of the first example" in SECTIONS[title]:
        files.append(FILE.findall(SECTIONS["Nodes with a class"])[1])
    for name, content in files:
        (folder / name).write_text(content)
    words = shlex.split(block(SECTIONS[title], "bash"))
    options = [words[k + 1] for k, word in enumerate(words) if word == "--option"]
    kind = "link" if "--task" in words else None
    assert str(load_task(folder, task=kind, **pairs(options))) == block(SECTIONS[title], "text")
