"""``build_model``: the network of a spec."""

from typing import Any, Protocol

from pgso.convs import CONVS
from pgso.models.gnn import GNN
from pgso.models.links import LinkModel
from pgso.records import RunSpec

Model = GNN | LinkModel  # of a spec


class Shape(Protocol):
    """What of a task its network depends on: a task has it, and so has the header of a file."""

    @property
    def kind(self) -> str:
        """``"node"``, ``"graph"`` or ``"link"``."""

    @property
    def num_features(self) -> int:
        """Columns of x."""

    @property
    def num_nodes(self) -> int:
        """Nodes of all graphs together: an S per node has as many values."""

    @property
    def num_outputs(self) -> int:
        """How many numbers a network has to say about a node or a graph."""

    @property
    def categories(self) -> tuple[int, ...] | None:
        """How many values each column of x has, where they are integers."""


def build_model(spec: RunSpec, task: Shape) -> Model:
    """The network of a spec for a task; its weights are drawn from torch's generator."""
    assert spec.operator != "found"
    assert spec.operator != "auto"
    options: dict[str, Any] = {}
    if CONVS[spec.conv].attends:
        options = {"heads": spec.heads, "attention_dropout": spec.dropout}
    if spec.terms is not None:
        options["terms"] = spec.terms
    if spec.basis is not None:
        options["basis"] = spec.basis
    if spec.degree is not None:
        options["K"] = spec.degree
    links = task.kind == "link"
    model = GNN(
        spec.conv,
        task.num_features,
        spec.hidden_channels,
        spec.hidden_channels if links else task.num_outputs,
        num_layers=spec.num_layers,
        operator=spec.operator,
        preset=spec.preset,
        learn=spec.learn,
        shape=("node", task.num_nodes) if spec.shape == "node" else spec.shape,
        dropout=spec.dropout,
        input_dropout=spec.input_dropout,
        norm=spec.norm,
        residual=spec.residual,
        jk=spec.jk,
        task="graph" if task.kind == "graph" else "node",
        pooling=spec.pooling,
        categories=task.categories,
        **options,
    )
    return LinkModel(model, spec.hidden_channels, spec.decoder) if links else model
