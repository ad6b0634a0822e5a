"""The code of the guides runs, and the table names every kind of layer."""

import linecache
import re
import sys
import types
from pathlib import Path

import pytest
import torch_geometric.nn as pyg

from pgso.conversion import Converted, converts
from pgso.conversion.layer import ADAPTERS
from pgso.errors import InputError

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs/convert.md").read_text()


CONVERTING, _, ADAPTING = GUIDE.partition("\n## Write an adapter\n")


def code_of(text):
    return "\n".join(re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL))


def test_an_adapter_is_written_as_its_guide_says():
    kinds = set(ADAPTERS)
    page = ROOT / "docs/convert.md"
    # PyG writes the messages of a layer to a module, for which it needs the layer's source.
    module = types.ModuleType("lazy_adapter")
    sys.modules[module.__name__] = module
    lines = code_of(ADAPTING).splitlines(keepends=True)
    linecache.cache[str(page)] = (len(lines), None, lines, str(page))
    try:
        exec(compile("".join(lines), str(page), "exec"), module.__dict__)
        (new,) = set(ADAPTERS) - kinds
        assert new.__name__ == "LazyConv"
    finally:
        for kind in set(ADAPTERS) - kinds:
            del ADAPTERS[kind]
        del sys.modules[module.__name__]


def test_a_kind_of_layer_has_one_adapter():
    with pytest.raises(InputError, match="GCNConv has an adapter already: GCNPGSO"):
        converts(pyg.GCNConv)(Converted)


def test_the_code_of_the_guide_runs(capsys):
    exec(compile(code_of(CONVERTING), "docs/convert.md", "exec"), {})
    table = capsys.readouterr().out.splitlines()[0].split()  # of pgso.operators
    assert table[:2] == ["layer", "operator"]
    assert table[-3:] == ["nearest", "low", "high"]


def test_every_kind_of_layer_is_in_the_table():
    for kind in ADAPTERS:
        assert f"`{kind.__name__}`" in GUIDE
