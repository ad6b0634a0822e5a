"""``pgso explain``: which columns and which edges matter to a saved model?"""

import json
from pathlib import Path
from typing import Annotated

import typer

from pgso.cli import choices
from pgso.cli.context import data_of
from pgso.cli.main import command
from pgso.cli.saved_model import open_model
from pgso.cli.terminal import Console
from pgso.records import Store


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
        from pgso.report.run_page import write_run
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
