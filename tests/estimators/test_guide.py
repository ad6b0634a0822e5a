import re
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[2].joinpath("docs/estimators.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)


@pytest.mark.parametrize("code", BLOCKS, ids=range(len(BLOCKS)))
def test_every_block_of_the_guide_runs_by_itself(code, capsys):
    exec(compile(code, "docs/estimators.md", "exec"), {})
    assert capsys.readouterr().out
