"""``pgso predict`` and ``pgso explain``: a saved model, applied and explained."""

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from pgso.cli import choices, folders
from pgso.cli.context import data_of
from pgso.cli.main import command
from pgso.cli.terminal import Console
from pgso.errors import InputError
from pgso.records import Store
from pgso.records.files import write_beside

if TYPE_CHECKING:
    from pgso.predictors.inputs import Asked
    from pgso.predictors.predictor import Predictor


@command(
    "predict",
    "pgso predict model ./new_customers  # only new rows, and their edges to old ones",
    "pgso predict best.safetensors Cora --to predictions.csv",
    "pgso predict churn ./customers --rank-by leaves --top 100",
    "pgso predict links.safetensors Cora --links 50",
)
def predict(
    model: Annotated[Path, typer.Argument(help="What pgso find or pgso train --save wrote.")],
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
    skip_bad_rows: Annotated[
        bool, typer.Option("--skip-bad-rows", help="Leave out rows that cannot be read; list them.")
    ] = False,
    data: choices.Data = None,
    offline: choices.Offline = False,
    as_json: choices.AsJson = False,
) -> None:
    """Write a table with what the model says about every node, every graph, or new links.

    Classes come with the probability of each, calibrated on validation, and a set that holds the
    truth in 90 %; numbers with an interval; both with the true answer where it is known. A folder
    may hold only new rows, with edges to nodes that the model was trained on. Or it is another
    graph with the same features. Its table is prepared as the model's was. A file that is there
    already is kept under another name.
    """
    folders.check_destination("--to", to)
    check_format(to)
    predictor, asked = opened(model, dataset, options, data, skip_bad_rows)
    if predictor.kind == "link":
        from pgso.predictors.table import most_probable_links

        task: Any = asked.task
        network: Any = predictor.network  # type: ignore[attr-defined]
        columns, rows = most_probable_links(network, task, links, task.ids or range(task.num_nodes))
    else:
        columns, rows = predictor.table(asked, predictor.outputs(asked))
    table = list(rows)
    if rank_by is not None:
        columns, table = ranked(columns, table, rank_by)
    table = table[:top]
    old = write_table(to, columns, table)
    from pgso.predictors.table import calibration_of

    header = predictor.header
    calibration, coverage = calibration_of(header), predictor.coverage
    left_out = [note for note in asked.notes if note.startswith("left out")]
    if as_json:
        said: dict[str, Any] = {
            "file": str(to),
            "old_file": old and str(old),
            "calibration": calibration or None,
        }
        said |= {"positive": header.get("positive"), "coverage": coverage, "left_out": left_out}
        typer.echo(json.dumps(said | {"predictions": as_dicts(columns, table)}))
        return
    console = Console(markup=False)
    for note in left_out:
        console.print(note, soft_wrap=True)
    if coverage:
        from pgso.report.finding import sets_sentence

        console.print(sets_sentence(coverage, bool(predictor.targets)), soft_wrap=True)
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


def opened(
    model: Path,
    dataset: str,
    options: list[str] | None,
    data: Path | None,
    skip_bad_rows: bool = False,
) -> "tuple[Predictor, Asked]":
    """A saved model, and the data that it is asked about."""
    from pgso.predictors import load

    predictor = load(model)
    given = choices.pairs(options)
    asked = predictor.asked(dataset, root=data, skip_bad_rows=skip_bad_rows, **given)
    unnamed = predictor.header.get("columns") is None or asked.task.columns is None
    if unnamed and dataset.lower() != predictor.spec.dataset.lower():
        Console(stderr=True, markup=False).print(
            "note: columns have no names, so they are read as the columns of "
            f"{predictor.spec.dataset}, in that order",
            soft_wrap=True,
        )
    return predictor, asked


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
    model: Annotated[Path, typer.Argument(help="What pgso find or pgso train --save wrote.")],
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
        predictor, asked = opened(model, dataset, options, data)

        from pgso.evaluation.importance import explain as explain_model
        from pgso.report.evaluation import edges_grid, importance_grids
        from pgso.report.page import write_run

        status.update("shuffling columns, fitting masks")
        network, task = predictor.as_network(asked)
        explanation = explain_model(network, task, predictor.header, item or (), repeats)
    store, page = Store(out), None
    record = store.read(predictor.header.get("record") or predictor.spec.key)
    if record is not None and asked.is_trained_here:
        record = record.model_copy(update={"explanation": explanation})
        store.put(record)
        page = write_run(record, store, data_of([record], store, data))
    if as_json:
        said = explanation.model_dump(mode="json") | {"report": None if page is None else str(page)}
        typer.echo(json.dumps(said))
        return
    for grid in (*importance_grids(explanation, task.objective), edges_grid(explanation)):
        if grid.rows:
            console.print(grid.first(top))
    for note in explanation.notes:
        console.print(f"Note: {note}.", soft_wrap=True)
    if page is not None:
        console.print(f"report: {page}", soft_wrap=True)
