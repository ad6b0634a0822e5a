"""``pgso spectrum``: bounds, extreme eigenvalues and density of operators on a graph."""

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from pgso.cli import choices
from pgso.cli.choices import opt
from pgso.cli.main import command
from pgso.cli.terminal import Console
from pgso.errors import InputError
from pgso.gso.parameters import PRESETS, TABLE_1, PGSOParameters
from pgso.records import RunSpec
from pgso.records.files import write_atomically
from pgso.records.store import read_record
from pgso.report.grid import Grid

if TYPE_CHECKING:
    from pgso.graph import Graph


@command(
    "spectrum",
    "pgso spectrum karate",
    "pgso spectrum edges.csv --undirected --compare-presets",
    "pgso spectrum --record runs/records/KEY.json",
)
def spectrum(
    source: str | None = typer.Argument(
        None,
        metavar="DATASET_OR_FILE",
        help="A dataset's name or folder, an edge list (.csv, .tsv or .txt: "
        "source,target[,weight]), or a scipy sparse matrix (.npz); with --record by default "
        "the record's dataset.",
    ),
    preset: str | None = opt(
        "options",
        "The operator: pgso list presets, or seven numbers.",
        metavar="NAME | m1,m2,m3,e1,e2,e3,a",
        show_default="gcn",
    ),
    record: Path | None = opt("options", "A run's record: its operators, at start and learned."),
    compare_presets: bool = opt("options", "All of Table 1.", False, "--compare-presets"),
    undirected: bool = opt("options", "Give every edge its reverse first.", False, "--undirected"),
    data: Path | None = choices.DATA,
    offline: bool = choices.OFFLINE,
    out: Path | None = opt("options", "Where files go.", show_default="runs/spectrum-DATASET-S"),
    as_json: bool = choices.AS_JSON,
) -> None:
    """Show where the eigenvalues of an operator lie; writes spectrum.png and spectrum.html."""
    if sum((record is not None, compare_presets, preset is not None)) > 1:
        raise InputError(
            "--record, --compare-presets and --preset exclude each other; give one of them"
        )
    spec: RunSpec | None = None
    what = preset or "gcn"
    if record is not None:
        what = record.stem
        spec, operators = _operators_of(record)
        source = source or spec.dataset
    elif compare_presets:
        what, operators = "presets", {name: PRESETS[name] for name in TABLE_1}
    else:
        chosen = RunSpec(dataset="-", preset=choices.read_choice("preset", what)).preset
        operators = {what: PGSOParameters.of(chosen or what)}
    if source is None:
        raise InputError("name a dataset or a file, for example: pgso spectrum karate")
    # Other settings, another folder: nothing is overwritten but the same once more.
    parts = ("spectrum", source, what, *(["undirected"] if undirected else []))
    out = out or choices.RUNS / choices.folder_name(*parts)
    choices.check_destination("--out", out, folder=True)
    from pgso.drawing import figure_svg
    from pgso.report.sections import picture_page
    from pgso.spectrum.certified import undirected as check_undirected
    from pgso.spectrum.page import counts_of, draw, summarise, table

    graph = _graph_of(source, data, undirected, spec)
    check_undirected(graph, remedy="--undirected gives every edge its reverse")
    title = Path(source).name or source
    summaries = [summarise(graph, name, S) for name, S in operators.items()]

    figure, drawn = draw(graph, title, summaries), io.BytesIO()
    figure.savefig(drawn, dpi=150)
    picture, page = out / "spectrum.png", out / "spectrum.html"
    write_atomically(picture, drawn.getvalue())
    lead = "Every eigenvalue lies in both intervals; the density is estimated from random probes."
    numbers = Grid(f"{title}: {counts_of(graph)}", *table(summaries))
    written = picture_page(f"Spectrum of {title}", lead, [numbers], figure_svg(figure))
    write_atomically(page, written)
    if as_json:
        counts = {"name": title, "num_nodes": graph.num_nodes, "num_edges": graph.num_edges}
        operators_found = [summary.as_dict() for summary in summaries]
        typer.echo(json.dumps({"graph": counts, "operators": operators_found}))
        return
    console = Console()
    console.print(numbers)
    console.say(f"{picture}\n{page}")


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
    from pgso.data.load import task_of
    from pgso.data.tables.archives import read_edge_list, read_sparse_matrix
    from pgso.training.fit import on_base

    path = Path(source)
    if path.is_file() and path.suffix in (".csv", ".tsv", ".txt", ".edges"):
        graph = read_edge_list(path)
    elif path.is_file() and path.suffix == ".npz":
        graph = read_sparse_matrix(path)
    elif spec is not None and source == spec.dataset:
        graph = on_base(task_of(spec, root), spec.base).graph
    else:
        graph = load_task(source, root=root, seed=0).graph
    return symmetrised(graph) if undirected else graph
