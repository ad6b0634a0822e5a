"""``pgso predict``: apply a saved model."""

import csv
import io
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from pgso.cli import choices
from pgso.cli.main import app, examples
from pgso.records.store import write_atomically


@app.command(epilog=examples("pgso predict best.safetensors Cora --to predictions.csv"))
def predict(
    model: Annotated[Path, typer.Argument(help="Weights written by pgso train --save.")],
    dataset: choices.DatasetName,
    options: choices.DataOptions = None,
    to: Annotated[Path, typer.Option(help="The table to write.")] = Path("predictions.csv"),
    data: choices.Data = None,
) -> None:
    """Write a table with the class and its probability for every node, or every graph."""
    from pgso.data import DATASETS, load_task
    from pgso.training.base import on_base
    from pgso.training.checkpoint import fitted, load_model
    from pgso.training.prediction import predict_outputs

    choices.check_destination("--to", to)
    network, spec, header = load_model(model)
    asked = choices.make_spec(dataset, None, options)
    folder = asked.dataset not in DATASETS and Path(dataset).expanduser().is_dir()
    # A user's folders are read alike, and a dataset as the model saw it.
    alike = asked.dataset == spec.dataset or (folder and spec.dataset not in DATASETS)
    given = {
        **asked.data_options,
        **(spec.data_options if alike else {}),
        **choices.pairs(options),
        **({"unlabelled": True} if folder else {}),
    }
    task = on_base(load_task(asked.dataset, data, spec.seed, **given), spec.base)
    task = fitted(header, task)
    probabilities = predict_outputs(network, task).softmax(dim=1)
    confidence, place = probabilities.max(dim=1)
    ids = task.ids or range(len(place))
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(["id", "prediction", "probability"])
    for name, chosen, sure in zip(ids, place.tolist(), confidence.tolist(), strict=True):
        writer.writerow([name, header["classes"][chosen], f"{sure:.6f}"])
    write_atomically(to, table.getvalue())
    Console(markup=False).print(f"{len(place)} predictions: {to}", soft_wrap=True)
