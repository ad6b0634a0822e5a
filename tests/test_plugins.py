"""Convs, datasets, objectives, rungs, adapters and studies of other packages, by entry points."""

import importlib
import json
import os
import subprocess
import sys
import textwrap
import warnings
from contextlib import ExitStack

import pytest

from pgso.conversion.layer import ADAPTERS
from pgso.convs import CONVS
from pgso.data import DATASETS
from pgso.errors import UnknownNameError
from pgso.finding.rungs import FAMILIES
from pgso.objectives import OBJECTIVES
from pgso.registry import PluginWarning, Registry, load_plugins
from pgso_studies.study import EXPERIMENTS
from tests.registries import restored

MODULES = {
    "skip": """
        from pgso.convs.architecture import CONVS
        from pgso.convs.gcn import GCNConv

        @CONVS.register("visiting")
        class VisitingConv(GCNConv):
            '''A conv of another package.'''
        """,
    "worst": """
        import numpy as np
        from pgso.objectives.objective import OBJECTIVES
        from pgso.objectives.classes import Classification

        class Worst(Classification):
            name, label = "worst_class", "accuracy of the worst class"

            def score(self, out, y):
                right = out.argmax(1) == y
                return min(float(right[y == c].mean()) for c in np.unique(y)) if len(y) else None

        OBJECTIVES.add(Worst())
        """,
    "thrice": """
        from pgso.finding.blocks import Word
        from pgso.finding.blocks import Letter
        from pgso.finding.rungs import FAMILIES, Family, Rung

        def rungs(search):
            letter = Letter.of("quarter")
            yield Rung("quarter, thrice", "thrice", (Word((letter,) * 3),), complexity=2)

        FAMILIES.register("thrice")(Family(3, rungs))
        """,
    "adapter": """
        from pgso.conversion import converts
        from pgso.conversion.linear import GCNPGSO
        from visitor.layer import VisitingLayer

        @converts(VisitingLayer)
        class VisitingPGSO(GCNPGSO, VisitingLayer):
            '''Twice what GCNConv says.'''

            def forward(self, x, edge_index):
                return 2 * super().forward(x, edge_index)
        """,
    "lattice": """
        from pgso.data.dataset import DATASETS, Dataset
        from pgso.data.sources.embedded import karate

        DATASETS.add(Dataset(name="Lattice", load=karate))
        """,
    "study": """
        from pgso.records import RunSpec
        from pgso_studies.study import EXPERIMENTS, Experiment

        class Visit(Experiment):
            title = "A visit"
            paper = "Beyond the paper"

            def runs(self, size, done):
                return [RunSpec(dataset="lattice", epochs=1)]

            def page(self, records, figures):
                return "# A visit"

        EXPERIMENTS.register("visit")(Visit())
        """,
    "layer": """
        from torch_geometric.nn import GCNConv

        class VisitingLayer(GCNConv):
            def forward(self, x, edge_index):
                return 2 * super().forward(x, edge_index)
        """,
}
GROUPS = {
    "pgso.convs": "skip",
    "pgso.objectives": "worst",
    "pgso.rungs": "thrice",
    "pgso.adapters": "adapter",
    "pgso.datasets": "lattice",
    "pgso.studies": "study",
}


@pytest.fixture
def package(tmp_path):
    """A folder as pip leaves it: a package and its metadata."""
    (tmp_path / "visitor").mkdir()
    (tmp_path / "visitor" / "__init__.py").touch()
    for name, code in MODULES.items():
        (tmp_path / "visitor" / f"{name}.py").write_text(textwrap.dedent(code))
    info = tmp_path / "visitor-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: visitor\nVersion: 1.0\n")
    points = [f"[{group}]\n{name} = visitor.{name}\n" for group, name in GROUPS.items()]
    (info / "entry_points.txt").write_text("\n".join(points))
    return tmp_path


@pytest.fixture
def installed(package, monkeypatch):
    """The package on the path of this process, and registries as they were afterwards."""
    kinds = dict(ADAPTERS)
    registries = (CONVS, DATASETS, EXPERIMENTS, FAMILIES, OBJECTIVES)
    with ExitStack() as stack:
        for registry in registries:
            stack.enter_context(restored(registry))  # before the package is on the path
        monkeypatch.syspath_prepend(str(package))
        load_plugins.cache_clear()
        yield package
    load_plugins.cache_clear()
    ADAPTERS.clear()
    ADAPTERS.update(kinds)
    for name in [name for name in sys.modules if name.partition(".")[0] == "visitor"]:
        del sys.modules[name]


def test_registries_know_what_an_installed_package_brings(installed):
    assert CONVS["visiting"].preset == "gcn"
    assert OBJECTIVES["Worst class"].label == "accuracy of the worst class"
    assert "visiting" in list(CONVS)
    assert "thrice" in list(FAMILIES)
    assert DATASETS["lattice"].name == "Lattice"
    assert EXPERIMENTS["visit"].title == "A visit"


def test_an_adapter_is_loaded_when_a_layer_has_none(installed):
    import torch

    from pgso import convert

    layer = importlib.import_module("visitor.layer").VisitingLayer(4, 3)
    x, edges = torch.randn(4, 4), torch.tensor([[0, 1, 2, 3], [1, 2, 3, 1]])
    torch.testing.assert_close(convert(layer)(x, edges), layer(x, edges))


def test_a_rung_of_a_package_is_tried_by_find(installed):
    import pgso

    names = [rung.name for rung in pgso.find("karate").rungs]
    assert "quarter, thrice" in names


def test_shipped_names_load_no_plug_in(installed):
    (installed / "visitor" / "skip.py").write_text("raise RuntimeError('imported')")
    assert CONVS["gcn"] is not None  # a warning would be an error


def test_a_broken_plug_in_is_named_and_left_out(installed):
    (installed / "visitor" / "skip.py").write_text("import no_such_package")
    with pytest.warns(PluginWarning, match=r"'skip' \(pgso\.convs\) of visitor cannot be used"):
        assert "gcn" in list(CONVS)
    with pytest.raises(UnknownNameError):
        CONVS["visiting"]


def test_a_name_that_is_taken_is_refused(installed):
    code = (installed / "visitor" / "skip.py").read_text()
    (installed / "visitor" / "skip.py").write_text(code.replace('"visiting"', '"gcn"'))
    with pytest.warns(PluginWarning, match="conv 'gcn' is registered twice"):
        list(CONVS)
    assert CONVS["gcn"].__name__ == "GCNConv"


def test_a_registry_without_a_group_asks_nobody(monkeypatch):
    load_plugins.cache_clear()
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: pytest.fail(group))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(Registry("colour", {"red": 1})) == ["red"]


PROGRAM = """
import sys
sys.path.remove("")  # as where a shell starts the command
from pgso.__main__ import main
from pgso.cli.main import run
from pgso.training import engines

sys.argv = ["pgso", "list", "convs"]
try:
    run()
except SystemExit as end:
    assert not end.code, end.code
engines.WORTH_WORKERS = 0.0
sys.argv = ["pgso", "compare", "karate", "--conv", "visiting", "--objective", "worst_class"]
sys.argv += ["--epochs", "1", "--seeds", "1", "--workers", "2", "--no-reference"]
main()
"""


def test_the_command_line_and_its_workers_see_it_and_nothing_that_lies_around(package, tmp_path):
    path = os.pathsep.join([str(package), *filter(None, [os.environ.get("PYTHONPATH")])])
    folder = tmp_path / "littered"
    folder.mkdir()
    for name in ("profile", "numpy", "statistics"):
        (folder / f"{name}.py").write_text("raise SystemExit('this must not be imported')")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "visiting" in done.stdout.partition("karate")[0]  # the list of convs
    files = (folder / "runs" / "records").glob("*.json")  # this process does not know the conv
    records = [json.loads(file.read_text()) for file in files]
    assert {record["spec"]["operator"] for record in records} >= {"fixed", "pgso", "mpgso"}
    for record in records:
        assert (record["status"], record["spec"]["conv"]) == ("done", "visiting"), record
        assert record["metric"] == "worst_class"
