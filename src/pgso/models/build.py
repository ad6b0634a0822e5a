"""``build_model``: the network of a spec."""

from typing import Any

from pgso.convs import CONVS
from pgso.errors import InputError
from pgso.models.gnn import GNN, LinkModel
from pgso.records import RunSpec

Model = GNN | LinkModel  # of a spec
SAME = ("num_layers", "operator", "preset", "learn", "dropout", "input_dropout", "norm", "residual",
        "jk", "pooling")  # fmt: skip


def build_model(spec: RunSpec, task: Any) -> Model:
    """The network of a spec for a task; its weights are drawn from torch's generator.

    The operator is fixed, pgso or mpgso. The task is anything with a task's ``kind``,
    ``num_features``, ``num_nodes``, ``num_outputs`` and ``categories``, such as a file's header.
    """
    assert spec.operator not in ("auto", "found")
    options: dict[str, Any] = {name: getattr(spec, name) for name in SAME}
    named = {"terms": spec.terms, "basis": spec.basis, "K": spec.degree}
    options |= {name: value for name, value in named.items() if value is not None}
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
        shape=("node", task.num_nodes) if spec.shape == "node" else spec.shape,
        task="graph" if task.kind == "graph" else "node",
        categories=task.categories,
        **options,
    )
    return LinkModel(model, spec.hidden_channels, spec.decoder) if links else model
