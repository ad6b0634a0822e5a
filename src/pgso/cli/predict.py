"""``pgso predict`` and ``pgso explain``: a saved model, applied and explained."""

import csv
import io
import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
import typer

from pgso.cli import choices, folders
from pgso.cli.context import data_of
from pgso.cli.main import command
from pgso.cli.terminal import Console
from pgso.errors import InputError
from pgso.objectives import OBJECTIVES
from pgso.records import RunSpec, Store
from pgso.records.files import write_beside

if TYPE_CHECKING:
    from pgso.data import Task
    from pgso.models.gnn import GNN
    from pgso.models.links import LinkModel


class SavedModel(NamedTuple):
    """A network, how it was trained, and a task whose columns are in the order it knows."""

    network: "GNN | LinkModel"
    spec: RunSpec
    header: dict[str, Any]
    task: "Task"
    is_trained_here: bool  # whether the task is the one that it was trained on


def open_model(
    model: Path, dataset: str, options: list[str] | None, data: Path | None
) -> SavedModel:
    """Load a model and data for it; the data may be without labels, and of another graph."""
    from pgso.data import DATASETS
    from pgso.data.load import OWN, load_task
    from pgso.training.checkpoint import fitted, load_model, preparation_of
    from pgso.training.fit import on_base

    network, spec, header = load_model(model)
    asked = choices.make_spec(dataset, None, options)
    path = Path(dataset).expanduser()
    is_own_file = asked.dataset not in DATASETS and (path.is_dir() or path.suffix.lower() in OWN)
    unlabelled = is_own_file and path.suffix.lower() != ".npz"
    # A user's folders are read alike, and a dataset as the model saw it.
    alike = asked.dataset == spec.dataset or (is_own_file and spec.dataset not in DATASETS)
    given = {
        **asked.data_options,
        **(spec.data_options if alike else {}),
        **choices.pairs(options),
    }
    load = partial(load_task, asked.dataset, data, spec.seed, task=spec.task)
    load = partial(load, preparation=preparation_of(header, model))
    try:
        task = load(**given)
    except InputError:
        if not unlabelled:
            raise
        # Its labels may be missing, or too few to learn from; which were learned does not matter.
        given = {k: v for k, v in given.items() if k not in ("target", "metric", "positive")}
        task = load(**given, unlabelled=True)
    task = on_base(task, spec.base)
    unnamed = header.get("columns") is None or task.columns is None
    task = fitted(header, task)
    objective = header.get("objective", task.metric)
    if tuple(header["classes"]) == task.classes and OBJECTIVES[objective].answer == task.answer:
        task = task.scored_by(objective).with_positive(header.get("positive"))
    if unnamed and asked.dataset != spec.dataset:
        Console(stderr=True, markup=False).print(
            "note: columns have no names, so they are read as the columns of "
            f"{spec.dataset}, in that order",
            soft_wrap=True,
        )
    return SavedModel(network, spec, header, task, _is_same(asked.dataset, spec.dataset))


def _is_same(name: str, other: str) -> bool:
    """Whether two words for data are the same name, or two ways to the same folder."""
    if name == other:
        return True
    paths = [Path(word).expanduser() for word in (name, other)]
    return all(path.exists() for path in paths) and paths[0].samefile(paths[1])


@command(
    "predict",
    "pgso predict best.safetensors Cora --to predictions.csv",
    "pgso predict best.safetensors ./other_graph  # without labels",
    "pgso predict churn.safetensors ./customers --rank-by leaves --top 100",
    "pgso predict links.safetensors Cora --links 50",
)
def predict(
    model: Annotated[Path, typer.Argument(help="Weights written by pgso train --save.")],
    dataset: choices.DatasetName,
    options: choices.DataOptions = None,
    to: Annotated[Path, typer.Option(help="The table to write: .csv, .json or .parquet.")] = Path(
        "predictions.csv"
    ),
    links: Annotated[
        int, typer.Option(help="Of a link model: how many new links to write.", min=1)
    ] = 100,
    rank_by: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Sort by a class's probability or by a number.",
            show_default="as in the data",
        ),
    ] = None,
    top: Annotated[
        int | None, typer.Option(help="Write only this many rows.", min=1, show_default="all")
    ] = None,
    data: choices.Data = None,
    offline: choices.Offline = False,
    as_json: choices.AsJson = False,
) -> None:
    """Write a table with what the model says about every node, every graph, or new links.

    Classes come with the probability of each, calibrated on validation, numbers with an interval,
    and both with the true answer where it is known. The graph may be another one than the model
    was trained on, as long as its features are the same; its table is prepared as the model's was.
    A file that is there already is kept under another name.
    """
    folders.check_destination("--to", to)
    check_format(to)
    network, _, header, task, is_trained_here = open_model(model, dataset, options, data)

    from pgso.models.links import LinkModel
    from pgso.training.loops import predict_outputs
    from pgso.training.prediction_table import calibration_of, most_probable_links, prediction_table

    if isinstance(network, LinkModel):
        ids = task.ids or range(task.num_nodes)
        columns, rows = most_probable_links(network, task, links, ids)
    else:
        out = predict_outputs(network, task)
        columns, rows = prediction_table(header, out, task, is_trained_here)
    table = list(rows)
    if rank_by is not None:
        columns, table = ranked(columns, table, rank_by)
    table = table[:top]
    old = write_table(to, columns, table)
    calibration = calibration_of(header)
    if as_json:
        said = {"file": str(to), "old_file": old and str(old), "calibration": calibration or None}
        said["positive"] = header.get("positive")
        typer.echo(json.dumps(said | {"predictions": as_dicts(columns, table)}))
        return
    console = Console(markup=False)
    if calibration:
        before, after = (100 * calibration[f"error_{name}"] for name in ("before", "after"))
        console.print(
            f"probabilities are calibrated on validation: temperature "
            f"{calibration['temperature']:.2f}, calibration error {before:.1f} before and "
            f"{after:.1f} points after, on test or, without one, on validation",
            soft_wrap=True,
        )
    console.print(f"{len(table)} predictions: {to}", soft_wrap=True)
    if old is not None:
        console.print(f"what was in {to} before: {old}", soft_wrap=True)


TABLES = (".xlsx", ".xls", ".ods", ".tsv", ".html")
NOT_WRITTEN = (*TABLES, ".jsonl", ".feather", ".npy", ".npz", ".pkl")
Rows = list[list[Any]]


def check_format(path: Path) -> None:
    """Refuse, before the work, a format that is not written, and Parquet where nothing can."""
    if path.suffix.lower() in NOT_WRITTEN:
        raise InputError(
            f"--to {path} would not be a {path.suffix}; write a .csv, .json or .parquet"
        )
    if path.suffix.lower() != ".parquet":
        return
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise InputError(
            f"--to {path} is Parquet, which needs pyarrow: pip install pyarrow, or write a .csv"
        ) from None


def write_table(path: Path, columns: Sequence[str], rows: Rows) -> Path | None:
    """Write a table, whole or not at all: Parquet by its ending, JSON likewise, else CSV.

    Returns:
        The new name of another table that was there; None if there was none.
    """
    ending = path.suffix.lower()
    if ending == ".parquet":
        return write_beside(path, _parquet(columns, rows))
    if ending == ".json":
        return write_beside(path, json.dumps(as_dicts(columns, rows), ensure_ascii=False) + "\n")
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([[_written(cell) for cell in row] for row in rows])
    return write_beside(path, text.getvalue())


def as_dicts(columns: Sequence[str], rows: Rows) -> list[dict[str, Any]]:
    """One dictionary a row; null where there is no number, since JSON has no NaN."""
    return [
        {name: None if cell != cell else cell for name, cell in zip(columns, row, strict=True)}
        for row in rows
    ]


def ranked(columns: list[str], rows: Rows, by: str) -> tuple[list[str], Rows]:
    """The rows by a column, largest first, with a column ``rank``.

    Args:
        columns: Their names.
        rows: What to sort; rows without a number come last.
        by: A class (then by its probability) or a column of numbers.

    Example:
        >>> ranked(["id", "p(yes)"], [["a", 0.2], ["b", 0.9]], "yes")
        (['rank', 'id', 'p(yes)'], [[1, 'b', 0.9], [2, 'a', 0.2]])
    """
    numbers = [name for c, name in enumerate(columns) if any(_is_number(row[c]) for row in rows)]
    name = next((column_name for column_name in (f"p({by})", by) if column_name in numbers), None)
    if name is None and rows:
        classes = [column_name[2:-1] for column_name in numbers if column_name.startswith("p(")]
        others = [column_name for column_name in numbers if not column_name.startswith("p(")]
        allowed = ", ".join([*classes, *others])
        raise InputError(f"predictions cannot be ranked by {by!r}; choose one of: {allowed}")
    column = columns.index(name) if name is not None else 0

    def last_without(row: list[Any]) -> float:
        return -row[column] if _is_number(row[column]) else float("inf")

    order = sorted(rows, key=last_without)
    return ["rank", *columns], [[k + 1, *row] for k, row in enumerate(order)]


def _is_number(cell: Any) -> bool:
    return isinstance(cell, float) and cell == cell


def _written(cell: Any) -> Any:
    """Numbers with as many digits as they have, in 32 or 64 bits."""
    if not isinstance(cell, float):
        return "" if cell is None else cell
    with np.errstate(over="ignore"):
        short = np.float32(cell)
    return float(str(short)) if float(short) == cell else cell


def _parquet(columns: Sequence[str], rows: Rows) -> bytes:
    import pyarrow
    import pyarrow.parquet

    values = {name: [row[c] for row in rows] for c, name in enumerate(columns)}
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(values), buffer)
    return buffer.getvalue()


@command(
    "explain",
    "pgso explain churn.safetensors ./customers",
    "pgso explain best.safetensors karate --item 3 --item 7",
)
def explain(
    model: Annotated[Path, typer.Argument(help="Weights written by pgso train --save.")],
    dataset: choices.DatasetName,
    item: Annotated[
        list[str] | None,
        typer.Option(help="A node or graph whose prediction the edges are for; may be repeated."),
    ] = None,
    repeats: Annotated[int, typer.Option(help="Shuffles of every column.", min=2)] = 20,
    top: Annotated[int, typer.Option(help="Rows to print.", min=1)] = 15,
    options: choices.DataOptions = None,
    out: choices.Out = choices.RUNS,
    data: choices.Data = None,
    offline: choices.Offline = False,
    as_json: choices.AsJson = False,
) -> None:
    """Rank columns by what shuffling them costs on validation, and edges by what they add.

    Of several relations, and for links, kinds of edges are ranked by what moving them costs.

    On the data that the model was trained on, the answer is kept in the run's record in --out and
    stands on its page.
    """
    console = Console(stderr=as_json, markup=False)
    with console.status("loading", spinner="line") as status:
        saved = open_model(model, dataset, options, data)

        from pgso.report.evaluation import edges_grid, features_grid, relations_grid
        from pgso.report.page import write_run
        from pgso.training.explanation import explain as explain_model

        status.update("shuffling columns, fitting masks")
        explanation = explain_model(saved.network, saved.task, saved.header, item or (), repeats)
    store, page = Store(out), None
    record = store.read(saved.spec.key)
    if record is not None and saved.is_trained_here:
        record = record.model_copy(update={"explanation": explanation})
        store.put(record)
        page = write_run(record, store, data_of([record], store, data))
    if as_json:
        said = explanation.model_dump(mode="json") | {"report": None if page is None else str(page)}
        typer.echo(json.dumps(said))
        return
    objective = saved.task.objective
    grids = [grid(explanation, objective) for grid in (features_grid, relations_grid)]
    for grid in (*grids, edges_grid(explanation)):
        if grid.rows:
            console.print(grid.first(top).to_rich())
    for note in explanation.notes:
        console.print(f"Note: {note}.", soft_wrap=True)
    if page is not None:
        console.print(f"report: {page}", soft_wrap=True)
