"""What to do with a finding: the spec of a network, code to paste, a command to confirm it."""

import json
from collections.abc import Mapping
from typing import Any

from pgso.records import RunSpec
from pgso.records.finding import RungRecord
from pgso.records.spec import SevenNumbers

IDENTITY: SevenNumbers = (0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0)  # γ = I: a network without a graph


def spec_of(rung: RungRecord, dataset: str, seed: int, suited: Mapping[str, Any]) -> RunSpec:
    """The run that trains a network with this rung's operator.

    A layer per hop. Where the node itself has weights of its own, the network has residuals.

    Args:
        rung: The rung that is kept.
        dataset: Its name or path.
        seed: That of the split.
        suited: What suits the dataset, such as a norm; the rung's choices come first.
    """
    options = dict(suited)
    if rung.S is None:
        chosen: dict[str, Any] = {"operator": "fixed", "preset": IDENTITY, "num_layers": 2}
    else:
        learned = rung.family == "learned"
        chosen = {
            "operator": "pgso" if learned else "fixed",
            "preset": rung.S if learned else _preset(rung),
            "num_layers": max(rung.hops, 2),
            "residual": "self" in rung.terms,
        }
    return RunSpec(**{**options, "dataset": dataset, "seed": seed, "conv": "gcn", **chosen})


def code_of(rung: RungRecord, in_channels: int, out_channels: int, kind: str) -> str:
    """A few lines of Python with a model that has this rung's operator."""
    task = ', task="graph"' if kind == "graph" else ""
    batch = ", batch=data.batch" if kind == "graph" else ""
    if rung.S is None and kind == "node":
        return (
            "from torch_geometric.nn import MLP\n\n"
            f"model = MLP([{in_channels}, 64, {out_channels}], dropout=0.5)  # no graph\n"
            "out = model(data.x)\n"
        )
    preset = repr(_preset(rung)) if rung.S is not None else repr(IDENTITY)
    operator = '"pgso"' if rung.family == "learned" else '"fixed"'
    residual = ", residual=True" if "self" in rung.terms and rung.S is not None else ""
    return (
        "import pgso\n\n"
        f'model = pgso.GNN("gcn", {in_channels}, 64, {out_channels}, '
        f"num_layers={max(rung.hops, 2)},\n"
        f"                 operator={operator}, preset={preset}{residual}{task})\n"
        f"out = model(data.x, data.edge_index{batch})\n"
    )


def command_of(rung: RungRecord, dataset: str) -> str:
    """The command that compares the rung's operator with learned ones in trained networks."""
    if rung.S is None:
        return f"pgso compare {dataset}"
    preset = _preset(rung)
    words = [f"pgso compare {dataset}"]
    if isinstance(preset, str):
        words.append(f"--preset {preset}")
    else:
        words.append(f"--set 'preset={json.dumps([round(value, 4) for value in preset])}'")
    if "self" in rung.terms:
        words.append("--set residual=true")
    if rung.hops > 2:
        words.append(f"--layers {rung.hops}")
    return " ".join(words)


def _preset(rung: RungRecord) -> str | SevenNumbers:
    names = {term.partition("@")[0] for term in rung.terms} - {"self"}
    assert rung.S is not None
    return rung.S if names == {"learned"} else names.pop()
