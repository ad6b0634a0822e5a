"""The guide's code runs, and its table names every kind of layer."""

import re
from pathlib import Path

from pgso.models.conversion.layer import ADAPTERS

GUIDE = Path(__file__).parents[3].joinpath("docs/convert.md").read_text()


def test_the_code_of_the_guide_runs(capsys):
    code = "\n".join(re.findall(r"```python\n(.*?)```", GUIDE, flags=re.DOTALL))
    exec(compile(code, "docs/convert.md", "exec"), {})
    assert "PGSOParameters(m1=" in capsys.readouterr().out


def test_every_kind_of_layer_is_in_the_table():
    for kind in ADAPTERS:
        assert f"`{kind.__name__}`" in GUIDE
