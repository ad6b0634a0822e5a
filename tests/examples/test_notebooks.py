"""Every notebook runs from top to bottom, shows something, and is stored without outputs."""

import ast
import json
import os
import sys
import tempfile
from pathlib import Path
from types import ModuleType

import matplotlib
import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "examples" / "notebooks").glob("*.ipynb"))


def code_cells(path):
    cells = json.loads(path.read_text())["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def run_cell(code: str, namespace: dict) -> str:
    """Run a cell as Jupyter does, and return what its last expression shows."""
    tree = ast.parse(code)
    shows = isinstance(tree.body[-1], ast.Expr) and not code.rstrip().split("#")[0].endswith(";")
    last = ast.Expression(tree.body.pop().value) if shows else None
    exec(compile(tree, "cell", "exec"), namespace)
    if last is None:
        return ""
    value = eval(compile(last, "cell", "eval"), namespace)
    html = getattr(value, "_repr_html_", None)
    return html() if html is not None else repr(value)


def test_there_are_notebooks():
    names = {path.stem for path in NOTEBOOKS}
    assert names == {"first_ten_minutes", "fraud_table", "pyg_researcher", "filter_gallery"}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_in_an_empty_folder_and_shows_something(
    path, tmp_path, monkeypatch, capsys
):
    matplotlib.use("Agg")
    from matplotlib import pyplot

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setitem(sys.modules, "notebook", notebook := ModuleType("notebook"))
    shown = [run_cell(code, vars(notebook)) for code in code_cells(path)]
    assert capsys.readouterr().out.strip()
    assert any(shown)
    assert max(map(len, shown)) < 20_000, "a cell prints pages"
    assert pyplot.get_fignums(), "a notebook has a picture"
    pyplot.close("all")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_small_explains_itself_and_holds_no_outputs(path):
    notebook = json.loads(path.read_text())
    assert os.path.getsize(path) < 10_000
    assert notebook["cells"][0]["source"][0].startswith("# ")
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    assert all(len(cell["source"]) <= 25 for cell in code)
