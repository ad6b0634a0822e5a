"""``pgso predict``: apply a saved model."""

import json
from pathlib import Path
from typing import Annotated

import typer

from pgso.cli import choices, folders
from pgso.cli.main import command
from pgso.cli.prediction_file import as_dicts, check_format, ranked, write_table
from pgso.cli.saved_model import open_model
from pgso.cli.terminal import Console


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
    from pgso.training.prediction import predict_outputs
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
