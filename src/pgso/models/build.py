"""``build_model``: the network of a spec."""

from typing import Any

from pgso.convs import CONVS
from pgso.errors import InputError
from pgso.models.gnn import GNN, LinkModel
from pgso.records import RunSpec

Model = GNN | LinkModel  # of a spec


def build_model(spec: RunSpec, task: Any) -> Model:
    """The network of a spec for a task; its weights are drawn from torch's generator.

    Args:
        spec: With the operator ``"fixed"``, ``"pgso"`` or ``"mpgso"``.
        task: Anything with a task's ``kind``, ``num_features``, ``num_nodes`` (an S per node has as
            many values), ``num_outputs`` and ``categories``: the header of a file has them, too.
    """
    assert spec.operator != "auto"
    assert spec.operator != "found"
    named = {"terms": spec.terms, "basis": spec.basis, "K": spec.degree}
    options: dict[str, Any] = {name: value for name, value in named.items() if value is not None}
    if CONVS[spec.conv].attends:
        options |= {"heads": spec.heads, "attention_dropout": spec.dropout}
    if spec.bias == "inside":
        if spec.conv != "gcn":
            raise InputError(f'bias="inside" is for the conv gcn, got {spec.conv}')
        options["bias"] = "inside"
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
