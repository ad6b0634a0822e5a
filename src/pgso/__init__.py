"""Learn the graph operator instead of hand-picking it.

Names are imported on first use, so that ``import pgso`` is fast and needs no torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from pgso import bases as bases
    from pgso import spectrum as spectrum
    from pgso.comparing import compare as compare
    from pgso.conversion.convert import convert as convert
    from pgso.convs import CONVS as CONVS
    from pgso.convs.bank import BankConv as BankConv
    from pgso.convs.filter import FilterConv as FilterConv
    from pgso.convs.gat import GATConv as GATConv
    from pgso.convs.gcn import GCNConv as GCNConv
    from pgso.convs.gin import GINConv as GINConv
    from pgso.convs.sgc import SGConv as SGConv
    from pgso.data import Task as Task
    from pgso.data.load import load_task as load_task
    from pgso.estimators.estimator import PGSOClassifier as PGSOClassifier
    from pgso.estimators.estimator import PGSORegressor as PGSORegressor
    from pgso.estimators.transformer import PGSOFeatures as PGSOFeatures
    from pgso.finding.finding import find as find
    from pgso.graph import Graph as Graph
    from pgso.graph import Relations as Relations
    from pgso.gso.dense import dense_pgso as dense_pgso
    from pgso.gso.module import PGSO as PGSO
    from pgso.gso.operator import ShiftOperator as ShiftOperator
    from pgso.gso.parameters import PRESETS as PRESETS
    from pgso.gso.parameters import PGSOParameters as PGSOParameters
    from pgso.gso.polynomials import polynomial as polynomial
    from pgso.gso.shift import apply_pgso as apply_pgso
    from pgso.gso.shift import shift as shift
    from pgso.models.gnn import GNN as GNN
    from pgso.models.operators import fold as fold
    from pgso.models.operators import operators as operators
    from pgso.models.operators import param_groups as param_groups
    from pgso.objectives import OBJECTIVES as OBJECTIVES
    from pgso.predictors import load as load
    from pgso.records import NUMERICS as NUMERICS
    from pgso.records import RunRecord as RunRecord
    from pgso.records import RunSpec as RunSpec
    from pgso.scale import NeighborLoader as NeighborLoader
    from pgso.spectrum.filters import divergence as divergence
    from pgso.spectrum.filters import filter as filter  # noqa: A004
    from pgso.spectrum.filters import gft as gft
    from pgso.spectrum.filters import gradient as gradient
    from pgso.spectrum.filters import heat as heat
    from pgso.spectrum.filters import igft as igft
    from pgso.spectrum.filters import ppr as ppr
    from pgso.spectrum.filters import smoothness as smoothness
    from pgso.spectrum.filters import wavelets as wavelets
    from pgso.training.fit import fit as fit

_NAMES = {  # of each file or folder; a folder without names is one itself
    "bases": "",
    "comparing": "compare",
    "conversion": "convert",
    "convs": "CONVS",
    "convs.bank": "BankConv",
    "convs.filter": "FilterConv",
    "convs.gat": "GATConv",
    "convs.gcn": "GCNConv",
    "convs.gin": "GINConv",
    "convs.sgc": "SGConv",
    "data": "Task load_task",
    "estimators": "PGSOClassifier PGSOFeatures PGSORegressor",
    "finding.finding": "find",
    "graph": "Graph Relations",
    "gso.dense": "dense_pgso",
    "gso.module": "PGSO",
    "gso.operator": "ShiftOperator",
    "gso.parameters": "PRESETS PGSOParameters",
    "gso.polynomials": "polynomial",
    "gso.shift": "apply_pgso shift",
    "models.gnn": "GNN",
    "models.operators": "fold operators param_groups",
    "objectives": "OBJECTIVES",
    "predictors": "load",
    "records": "NUMERICS RunRecord RunSpec",
    "scale": "NeighborLoader",
    "spectrum": "",
    "spectrum.filters": "divergence filter gft gradient heat igft ppr smoothness wavelets",
    "training.fit": "fit",
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names.split() or [home]}

__all__ = sorted(_HOMES)


if not TYPE_CHECKING:  # else a type checker would take any misspelt name

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module 'pgso' has no attribute {name!r}")
        home = import_module(f"pgso.{_HOMES[name]}")
        value = home if _HOMES[name] == name else getattr(home, name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return [*globals(), *_HOMES]
