"""``pgso spectrum``: bounds, extreme eigenvalues and density of operators on a graph."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from pgso.cli import choices
from pgso.cli.main import app, examples
from pgso.errors import InputError
from pgso.gso.presets import PRESETS
from pgso.records import RunSpec
from pgso.records.store import read_record

if TYPE_CHECKING:
    from pgso.graph import Graph
    from pgso.spectrum.summary import Summary

NOT_IN_TABLE_1 = ("gin", "quarter", "three_quarters", "transition", "gat", "zeros")


@app.command(
    epilog=examples(
        "pgso spectrum karate",
        "pgso spectrum edges.csv --undirected --compare-presets",
        "pgso spectrum --record runs/records/KEY.json",
    )
)
def spectrum(
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="DATASET_OR_FILE",
            autocompletion=choices.dataset_names,
            help="A dataset's name or folder, an edge list (.csv: source,target[,weight]), "
            "or a scipy sparse matrix (.npz); with --record by default the record's dataset.",
        ),
    ] = None,
    preset: Annotated[str, typer.Option(help="The operator, see `pgso list presets`.")] = "gcn",
    record: Annotated[
        Path | None, typer.Option(help="A run's record: its operators, at start and learned.")
    ] = None,
    compare_presets: Annotated[
        bool, typer.Option("--compare-presets", help="All of Table 1 on this graph.")
    ] = False,
    undirected: Annotated[
        bool, typer.Option("--undirected", help="Give every edge its reverse first.")
    ] = False,
    data: choices.Data = None,
    out: Annotated[Path, typer.Option(help="Where the files go.")] = Path("runs/spectrum"),
    as_json: choices.AsJson = False,
) -> None:
    """Show where the eigenvalues of an operator lie; writes spectrum.png and spectrum.html."""
    from pgso.spectrum.figure import draw
    from pgso.spectrum.page import render
    from pgso.spectrum.summary import summarise

    spec: RunSpec | None = None
    if record is not None and compare_presets:
        raise InputError("--record and --compare-presets exclude each other; give one of them")
    if record is not None:
        spec, operators = _operators_of(record)
        source = source or spec.dataset
    elif compare_presets:
        operators = {name: S for name, S in PRESETS.items() if name not in NOT_IN_TABLE_1}
    else:
        operators = {preset: PRESETS[preset]}
    if source is None:
        raise InputError("name a dataset or a file, for example: pgso spectrum karate")
    graph = _graph_of(source, data, undirected, spec)
    title = Path(source).name or source
    summaries = [summarise(graph, name, S) for name, S in operators.items()]

    out.mkdir(parents=True, exist_ok=True)
    picture = out / "spectrum.png"
    draw(graph, title, summaries).savefig(picture, dpi=150)
    page = out / "spectrum.html"
    page.write_text(render(graph, title, summaries, picture.read_bytes()), encoding="utf-8")
    if as_json:
        typer.echo(json.dumps(_as_dict(title, graph, summaries)))
        return
    console = Console()
    console.print(_table(title, graph, summaries))
    console.print(f"{picture}\n{page}", markup=False, highlight=False, soft_wrap=True)


def _operators_of(path: Path) -> tuple[RunSpec, dict[str, Any]]:
    """The spec of a record, and each of its operators twice: where it began, what it learned."""
    record = read_record(path)
    pairs = list(zip(record.start, record.parameters, strict=True))
    operators: dict[str, Any] = {}
    for layer, (before, after) in enumerate(pairs, start=1):
        name = "operator" if len(pairs) == 1 else f"operator {layer}"
        operators[f"{name}, start"] = before
        operators[f"{name}, learned"] = after
    if not operators:
        raise InputError(f"the run of {path} has no operator; try one with --operator pgso")
    return record.spec, operators


def _graph_of(source: str, root: Path | None, undirected: bool, spec: RunSpec | None) -> "Graph":
    """The graph of a dataset or file; that of a run is as the run saw it."""
    from pgso.data import load_task
    from pgso.graph import Graph
    from pgso.training.base import on_base

    path = Path(source)
    if path.is_file() and path.suffix == ".csv":
        graph = _read_edges(path)
    elif path.is_file() and path.suffix == ".npz":
        graph = _read_matrix(path)
    elif spec is not None and source == spec.dataset:
        task = load_task(source, root, spec.seed, **spec.data_options)
        graph = on_base(task, spec.base).graph
    else:
        graph = load_task(source, root=root, seed=0).graph
    if not undirected or graph.is_undirected:
        return graph
    from torch_geometric.utils import to_undirected

    if graph.edge_weight is None:
        return Graph.from_edge_index(to_undirected(graph.edge_index), None, graph.num_nodes)
    edges, weight = to_undirected(graph.edge_index, graph.edge_weight, graph.num_nodes, "mean")
    return Graph.from_edge_index(edges, weight, graph.num_nodes)


def _read_edges(path: Path) -> "Graph":
    """An edge list with node numbers from 0 on and, maybe, one line of column names."""
    import numpy as np
    import torch

    from pgso.graph import Graph

    with path.open(encoding="utf-8-sig") as lines:
        first = lines.readline()
    header = any(character.isalpha() for character in first.replace("e", ""))
    try:
        table = np.loadtxt(path, delimiter=",", skiprows=int(header), ndmin=2, encoding="utf-8-sig")
        if table.shape[1] not in (2, 3):
            raise ValueError(f"{table.shape[1]} columns")
        if (table[:, :2] % 1).any() or (table[:, :2] < 0).any():
            raise ValueError("node numbers that are not whole numbers from 0 on")
    except ValueError as error:
        raise InputError(
            f"{path} is not an edge list ({str(error).partition(';')[0]}); "
            "each line must be source,target or source,target,weight with node numbers"
        ) from None
    edges = torch.from_numpy(table[:, :2].T.astype(np.int64))
    weight = torch.from_numpy(table[:, 2].copy()) if table.shape[1] == 3 else None
    return Graph.from_edge_index(edges, weight)


def _read_matrix(path: Path) -> "Graph":
    from scipy.sparse import load_npz

    from pgso.graph import Graph

    try:
        matrix = load_npz(path)
    except (ValueError, OSError, KeyError) as error:
        raise InputError(
            f"{path} holds no scipy sparse matrix ({error}); write one with scipy.sparse.save_npz"
        ) from None
    return Graph.from_scipy(matrix)


def _table(title: str, graph: "Graph", summaries: "list[Summary]") -> Table:
    from rich.markup import escape

    from pgso.spectrum.page import span

    counts = f"{graph.num_nodes:,} nodes, {graph.num_edges:,} directed edges"
    table = Table("operator", "Theorem 2", "optimal", "smallest", "largest")
    table.title = f"{escape(title)}: {counts}"
    for summary in summaries:
        half = len(summary.extremes) // 2
        table.add_row(
            escape(summary.name),
            escape(span(summary.theorem2)),
            escape(span(summary.optimal)),
            "\n".join(f"{value:z.4f}" for value in summary.extremes[:half]) or "-",
            "\n".join(f"{value:z.4f}" for value in summary.extremes[half:]) or "-",
        )
    return table


def _as_dict(title: str, graph: "Graph", summaries: "list[Summary]") -> dict[str, Any]:
    return {
        "graph": {"name": title, "num_nodes": graph.num_nodes, "num_edges": graph.num_edges},
        "operators": [summary.as_dict() for summary in summaries],
    }
