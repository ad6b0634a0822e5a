"""The one-file recipes of docs/extend.md, each done once in a copy of the package."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "extend.md").read_text()
FILES = {  # where a recipe goes -> how its file begins
    "convs/skip.py": '"""A layer that keeps its input',
    "data/sources/ring.py": '"""A ring whose nodes alternate',
    "../pgso_studies/ring.py": '"""Does the operator learn to turn signs',
    "objectives/largest_error.py": '"""The largest error',
    "finding/rungs.py": '"""Three hops with D^-1/4',
}


@pytest.fixture
def package(tmp_path):
    """pgso and its studies with the files of the guide, and one more preset."""
    copy, no_caches = tmp_path / "pgso", shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src" / "pgso", copy, ignore=no_caches)
    studies = ROOT / "studies" / "pgso_studies"
    shutil.copytree(studies, tmp_path / "pgso_studies", ignore=no_caches)
    blocks = re.findall(r"```python\n(.*?)```", GUIDE, flags=re.DOTALL)
    for place, start in FILES.items():
        (code,) = (block for block in blocks if block.startswith(start))
        with (copy / place).open("a") as file:  # a rung goes below the rungs that are there
            file.write(code)
    (S,) = re.findall(r"^third = (PGSOParameters\([^)]*\))", GUIDE, flags=re.MULTILINE)
    table = copy / "gso" / "parameters.py"
    mark = "    # Not in Table 1:\n"
    assert mark in table.read_text()
    table.write_text(table.read_text().replace(mark, f'{mark}    "third": {S},\n'))
    return tmp_path


PROGRAM = """
import sys
import pgso
assert pgso.__file__.startswith({package!r})
from pgso.cli.main import run

for line in (
    "list",
    "train ring --conv skip --preset third --epochs 3",
    "train diabetes --objective largest_error --epochs 2",
    "find ring --all",
    "run ring --quick --workers 1 --results results",
    "report ring",
):
    sys.argv = ["pgso", *line.split()]
    try:
        run()
    except SystemExit as end:
        assert not end.code, line
"""


def test_all_six_are_found_by_name_and_work_together(package):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(package=str(package))],
        cwd=package,  # the first place where Python looks
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    for name in ("skip", "third", "ring", "Signs on a ring", "test accuracy", "quarter, 3 hops"):
        assert name in done.stdout
    page = (package / "results" / "ring" / "page.md").read_text()
    assert page.startswith("# Signs on a ring")
    assert "4 runs" in page
