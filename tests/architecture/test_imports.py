"""Who imports whom, and what stays unimported until it is needed."""

import subprocess
import sys
from pathlib import Path

import pytest
from importlinter.cli import lint_imports

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"
HEAVY = ("torch", "torch_geometric", "scipy", "sklearn", "matplotlib", "networkx")


def test_imports_go_one_way():
    # Without the cache, which does not notice that a module's neighbours have come or gone.
    assert lint_imports(str(PYPROJECT), no_cache=True) == 0


def imported_by(code: str) -> set[str]:
    program = (
        f"import sys\n{code}\nprint(*[m for m in {HEAVY} if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return set(done.stderr.split())


HELP = """
from pgso.cli.main import run
sys.argv = ["pgso", {arguments}]
try:
    run()
except SystemExit as end:
    assert not end.code, end.code
"""


@pytest.mark.parametrize(
    "code",
    [
        "import pgso; dir(pgso)",
        "import pgso.errors, pgso.registry",
        "from pgso import PRESETS, PGSOParameters",
        HELP.format(arguments="'--help'"),
        HELP.format(arguments="'list', 'presets'"),
    ],
    ids=["import", "errors", "presets", "help", "list"],
)
def test_what_should_be_fast_does_not_import_torch(code):
    assert imported_by(code) & {"torch", "torch_geometric"} == set()


def test_torch_is_imported_on_first_use_and_for_training_neither_sklearn_nor_matplotlib():
    actual = imported_by(
        "import pgso; pgso.PGSO; assert 'torch' in sys.modules; import pgso.training.fit"
    )
    assert "torch" in actual
    assert actual & {"sklearn", "matplotlib"} == set()
