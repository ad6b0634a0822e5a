"""``pgso predict`` and ``pgso explain``: a saved model, applied and explained."""

import json
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from pgso.cli import choices
from pgso.cli.choices import opt
from pgso.cli.main import command
from pgso.cli.terminal import Console
from pgso.errors import InputError
from pgso.records import Store
from pgso.records.files import write_beside

if TYPE_CHECKING:
    import pandas

    from pgso.predictors.inputs import Asked
    from pgso.predictors.predictor import Predictor

MODEL: Any = typer.Argument(help="What pgso find or pgso train --save wrote.")
WRITTEN = (".csv", ".json", ".parquet", ".txt")


def check_table(path: Path) -> Path:
    """Refuse, before the work, a file that cannot be written."""
    choices.check_destination("--to", path)
    if path.suffix.lower() not in WRITTEN and path.suffix[1:].isalpha():
        raise InputError(
            f"--to {path} would not be a {path.suffix}; write a .csv, .json or .parquet"
        )
    if path.suffix.lower() == ".parquet" and find_spec("pyarrow") is None:
        raise InputError(
            f"--to {path} is Parquet, which needs pyarrow: pip install pyarrow, or write a .csv"
        )
    return path


@command(
    "predict",
    "pgso predict model ./new_customers  # only new rows, and their edges to old ones",
    "pgso predict best.safetensors Cora --to predictions.csv",
    "pgso predict churn ./customers --rank-by leaves --top 100",
    "pgso predict links.safetensors Cora --links 50",
)
def predict(
    model: Path = MODEL,
    dataset: str = choices.DATASET,
    options: list[str] | None = choices.DATA_OPTIONS,
    to: Path = opt(
        "options", "Table: .csv, .json or .parquet.", Path("predictions.csv"), callback=check_table
    ),
    links: int = opt("options", "Of a link model: how many new links to write.", 100, min=1),
    rank_by: str | None = opt(
        "options", "Sort by a class's probability or a number.", show_default="as in the data"
    ),
    top: int | None = opt("options", "Write only this many rows.", min=1, show_default="all"),
    skip_bad_rows: bool = opt("options", "Leave out and list bad rows.", False, "--skip-bad-rows"),
    data: Path | None = choices.DATA,
    offline: bool = choices.OFFLINE,
    as_json: bool = choices.AS_JSON,
) -> None:
    """Write a table with what the model says about every node, every graph, or new links.

    Classes come with the probability of each, calibrated on validation, and a set that holds the
    truth in 90 %; numbers with an interval; both with the true answer where it is known. A folder
    may hold only new rows, with edges to nodes that the model was trained on. Or it is another
    graph with the same features. Its table is prepared as the model's was. A file that is there
    already is kept under another name.
    """
    predictor, asked = opened(model, dataset, options, data, skip_bad_rows)
    from pgso.predictors.predictor import most_probable_links, prediction_table

    if predictor.kind == "link":
        table = most_probable_links(predictor.network, asked.task, links, asked.ids)
    else:
        table = prediction_table(predictor, asked, predictor.outputs(asked))
    table = (table if rank_by is None else ranked(table, rank_by)).head(top or len(table))
    old, calibration, coverage = write_table(to, table), predictor.calibration, predictor.coverage
    left_out = [note for note in asked.notes if note.startswith("left out")]
    if as_json:
        said: dict[str, Any] = {"file": str(to), "old_file": old and str(old)}
        said |= {"calibration": calibration or None, "positive": predictor.header["positive"]}
        said |= {"coverage": coverage, "left_out": left_out}
        typer.echo(json.dumps(said | {"predictions": as_dicts(table)}))
        return
    console = Console()
    for note in left_out:
        console.say(note)
    if coverage:
        from pgso.report.finding import sets_sentence

        console.say(sets_sentence(coverage, bool(predictor.targets)))
    if calibration:
        before, after = (100 * calibration[f"error_{name}"] for name in ("before", "after"))
        console.say(
            f"probabilities are calibrated on validation: temperature "
            f"{calibration['temperature']:.2f}, calibration error {before:.1f} before and "
            f"{after:.1f} points after, on test or, without one, on validation"
        )
    console.say(f"{len(table)} predictions: {to}")
    if old is not None:
        console.say(f"what was in {to} before: {old}")


def opened(
    model: Path, dataset: str, options: list[str] | None, data: Path | None, skip: bool = False
) -> "tuple[Predictor, Asked]":
    """A saved model, and the data that it is asked about."""
    from pgso.predictors import load

    predictor = load(model)
    given = choices.pairs(options)
    asked = predictor.asked(dataset, root=data, skip_bad_rows=skip, **given)
    unnamed = predictor.header.get("columns") is None or asked.task.columns is None
    if unnamed and dataset.lower() != predictor.spec.dataset.lower():
        Console(stderr=True).say(
            "note: columns have no names, so they are read as the columns of "
            f"{predictor.spec.dataset}, in that order"
        )
    return predictor, asked


def write_table(path: Path, table: "pandas.DataFrame") -> Path | None:
    """Write a table as its ending says; return the new name of another one that was there."""
    content: str | bytes = table.to_csv(index=False, lineterminator="\n")
    if path.suffix.lower() == ".parquet":
        content = table.to_parquet(index=False)
    elif path.suffix.lower() == ".json":
        content = json.dumps(as_dicts(table), ensure_ascii=False) + "\n"
    return write_beside(path, content)


def as_dicts(table: "pandas.DataFrame") -> list[dict[str, Any]]:
    """One dictionary a row; null where there is no number, since JSON has no NaN."""
    rows: list[dict[str, Any]] = table.astype(object).where(table.notna(), None).to_dict("records")
    return rows


def ranked(table: "pandas.DataFrame", by: str) -> "pandas.DataFrame":
    """The rows by a class's probability or by a number, largest first, with their rank."""
    numbers = [name for name in table.select_dtypes("float") if table[name].notna().any()]
    name = next((name for name in (f"p({by})", by) if name in numbers), None)
    if name is None and len(table):
        names = [name[2:-1] if name.startswith("p(") else name for name in numbers]
        raise InputError(
            f"predictions cannot be ranked by {by!r}; choose one of: {', '.join(names)}"
        )
    if name is not None:
        table = table.sort_values(name, ascending=False, kind="stable", ignore_index=True)
    table.insert(0, "rank", range(1, len(table) + 1))
    return table


@command(
    "explain",
    "pgso explain churn.safetensors ./customers",
    "pgso explain best.safetensors karate --item 3 --item 7",
)
def explain(
    model: Path = MODEL,
    dataset: str = choices.DATASET,
    item: list[str] | None = opt(
        "options", "A node or graph whose prediction the edges are for; may be repeated."
    ),
    repeats: int = opt("options", "Shuffles of every column.", 20, min=2),
    top: int = opt("options", "Rows to print.", 15, min=1),
    options: list[str] | None = choices.DATA_OPTIONS,
    out: Path = choices.OUT,
    data: Path | None = choices.DATA,
    offline: bool = choices.OFFLINE,
    as_json: bool = choices.AS_JSON,
) -> None:
    """Rank columns by what shuffling them costs on validation, and edges by what they add.

    Of several relations, and for links, kinds of edges are ranked by what moving them costs.

    On the data that the model was trained on, the answer is kept in the run's record in --out and
    stands on its page.
    """
    console = Console(stderr=as_json)
    with console.status("loading", spinner="line") as status:
        predictor, asked = opened(model, dataset, options, data)

        from pgso.evaluation.importance import explain as explain_model
        from pgso.report.evaluation import explanation_grids
        from pgso.report.page import write_run

        status.update("shuffling columns, fitting masks")
        network, task = predictor.as_network(asked)
        explanation = explain_model(network, task, predictor.header, item or (), repeats)
    store, page = Store(out), None
    record = store.read(predictor.header.get("record") or predictor.spec.key)
    if record is not None and asked.is_trained_here:
        record = record.model_copy(update={"explanation": explanation})
        store.put(record)
        page = write_run(record, store, choices.data_of([record], store, data))
    if as_json:
        said = explanation.model_dump(mode="json") | {"report": page and str(page)}
        typer.echo(json.dumps(said))
        return
    for grid in explanation_grids(explanation, task.objective):
        console.print(replace(grid, rows=grid.rows[:top]))
    for note in explanation.notes:
        console.say(f"Note: {note}.")
    if page is not None:
        console.say(f"report: {page}")
