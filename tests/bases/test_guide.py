"""The code of the guides runs."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", ["bases.md", "richer_parameters.md"])
def test_the_code_of_the_guide_runs(name, capsys):
    code = "\n".join(re.findall(r"```python\n(.*?)```", (DOCS / name).read_text(), flags=re.DOTALL))
    exec(compile(code, name, "exec"), {})
    assert capsys.readouterr().out
