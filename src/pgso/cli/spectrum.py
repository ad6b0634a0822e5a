"""``pgso spectrum``: bounds, extreme eigenvalues and density of operators on a graph."""

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pgso.cli import choices, folders
from pgso.cli.main import command
from pgso.cli.terminal import Console
from pgso.errors import InputError
from pgso.gso.presets import PRESETS, TABLE_1, resolve
from pgso.records import RunSpec
from pgso.records.files import write_atomically
from pgso.records.store import read_record
from pgso.report.grid import Grid

if TYPE_CHECKING:
    from pgso.graph import Graph
    from pgso.spectrum.page import Summary


@command(
    "spectrum",
    "pgso spectrum karate",
    "pgso spectrum edges.csv --undirected --compare-presets",
    "pgso spectrum --record runs/records/KEY.json",
)
def spectrum(
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="DATASET_OR_FILE",
            autocompletion=choices.dataset_names,
            help="A dataset's name or folder, an edge list (.csv, .tsv or .txt: "
            "source,target[,weight]), or a scipy sparse matrix (.npz); with --record by default "
            "the record's dataset.",
        ),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            metavar="NAME | m1,m2,m3,e1,e2,e3,a",
            help="The operator: pgso list presets, or seven numbers.",
            autocompletion=choices.completing(PRESETS),
            show_default="gcn",
        ),
    ] = None,
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
    offline: choices.Offline = False,
    out: Annotated[
        Path | None,
        typer.Option(help="Where the files go.", show_default="runs/spectrum-DATASET-OPERATOR"),
    ] = None,
    as_json: choices.AsJson = False,
) -> None:
    """Show where the eigenvalues of an operator lie; writes spectrum.png and spectrum.html."""
    spec: RunSpec | None = None
    if sum((record is not None, compare_presets, preset is not None)) > 1:
        raise InputError(
            "--record, --compare-presets and --preset exclude each other; give one of them"
        )
    preset = preset or "gcn"
    if record is not None:
        spec, operators = _operators_of(record)
        source = source or spec.dataset
    elif compare_presets:
        operators = {name: PRESETS[name] for name in TABLE_1}
    else:
        operators = {preset: resolve(choices.preset_of(preset))}
    if source is None:
        raise InputError("name a dataset or a file, for example: pgso spectrum karate")
    out = out or choices.RUNS / _folder(source, preset, record, compare_presets, undirected)
    folders.check_destination("--out", out, folder=True)
    from pgso.spectrum.certified import undirected as check_undirected
    from pgso.spectrum.page import draw, render, summarise

    graph = _graph_of(source, data, undirected, spec)
    check_undirected(graph, remedy="--undirected gives every edge its reverse")
    title = Path(source).name or source
    summaries = [summarise(graph, name, S) for name, S in operators.items()]

    figure, drawn = draw(graph, title, summaries), io.BytesIO()
    figure.savefig(drawn, dpi=150)
    picture, page = out / "spectrum.png", out / "spectrum.html"
    write_atomically(picture, drawn.getvalue())
    write_atomically(page, render(graph, title, summaries, figure))
    if as_json:
        counts = {"name": title, "num_nodes": graph.num_nodes, "num_edges": graph.num_edges}
        operators_found = [summary.as_dict() for summary in summaries]
        typer.echo(json.dumps({"graph": counts, "operators": operators_found}))
        return
    console = Console(markup=False, highlight=False)
    console.print(
        _table(f"{title}: {graph.num_nodes:,} nodes, {graph.num_edges:,} directed edges", summaries)
    )
    console.print(f"{picture}\n{page}", soft_wrap=True)


def _table(title: str, summaries: "list[Summary]") -> Grid:
    from pgso.spectrum.page import span

    rows = []
    for summary in summaries:
        half = len(summary.extremes) // 2
        ends = (summary.extremes[:half], summary.extremes[half:])
        extremes = ("\n".join(f"{value:z.4f}" for value in end) or "-" for end in ends)
        rows.append((summary.name, span(summary.theorem2), span(summary.optimal), *extremes))
    header = ("operator", "Theorem 2", "optimal", "smallest", "largest")
    return Grid(title, header, tuple(rows))


def _folder(
    source: str, preset: str, record: Path | None, compare_presets: bool, undirected: bool
) -> str:
    """Other settings, another folder: nothing is overwritten but the same once more."""
    what = record.stem if record is not None else "presets" if compare_presets else preset
    parts = ("spectrum", source, what, *(["undirected"] if undirected else []))
    return folders.shortened("-".join(folders.slug(part) for part in parts))


def _operators_of(path: Path) -> tuple[RunSpec, dict[str, Any]]:
    """The spec of a record, and each of its operators twice: where it began, what it learned."""
    record = read_record(path)
    kinds = {term.partition("@")[2] for term in record.spec.terms or ()} - {"", "in", "out"}
    if kinds:
        raise InputError(
            f"the run of {path} has operators on the relations {', '.join(sorted(kinds))}, and "
            "operators of one graph are shown here; write one's edges to a file, and name that"
        )
    if len(record.start) != len(record.parameters):
        raise InputError(f"{path} has operators that only began or only ended; run it again")
    pairs = list(zip(record.start, record.parameters, strict=True))
    operators: dict[str, Any] = {}
    for layer, (before, after) in enumerate(pairs, start=1):
        name = "operator" if len(pairs) == 1 else f"operator {layer}"
        name += "" if record.spec.shape == "scalar" else f", mean S over {record.spec.shape}s"
        operators[f"{name}, start"] = before
        operators[f"{name}, learned"] = after
    if not operators:
        raise InputError(f"the run of {path} has no operator; try one with --operator pgso")
    return record.spec, operators


def _graph_of(source: str, root: Path | None, undirected: bool, spec: RunSpec | None) -> "Graph":
    """The graph of a dataset or file; for a record, the graph that its run used."""
    from pgso.bases import undirected as symmetrised
    from pgso.data import load_task
    from pgso.data.tables.archives import read_edge_list, read_sparse_matrix
    from pgso.training.fit import on_base

    path = Path(source)
    if path.is_file() and path.suffix in (".csv", ".tsv", ".txt", ".edges"):
        graph = read_edge_list(path)
    elif path.is_file() and path.suffix == ".npz":
        graph = read_sparse_matrix(path)
    elif spec is not None and source == spec.dataset:
        from pgso.data.load import task_of

        task = task_of(spec, root)
        graph = on_base(task, spec.base).graph
    else:
        graph = load_task(source, root=root, seed=0).graph
    return symmetrised(graph) if undirected else graph
