"""``pgso predict``: apply a saved model."""

import csv
import io
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from pgso.cli import choices, folders
from pgso.cli.main import command
from pgso.cli.terminal import Console
from pgso.errors import InputError
from pgso.records.store import write_atomically


@command(
    "predict",
    "pgso predict best.safetensors Cora --to predictions.csv",
    "pgso predict best.safetensors ./other_graph  # without labels",
    "pgso predict links.safetensors Cora --links 50",
)
def predict(
    model: Annotated[Path, typer.Argument(help="Weights written by pgso train --save.")],
    dataset: choices.DatasetName,
    options: choices.DataOptions = None,
    to: Annotated[Path, typer.Option(help="The table to write.")] = Path("predictions.csv"),
    links: Annotated[
        int, typer.Option(help="Of a link model: how many new links to write.", min=1)
    ] = 100,
    data: choices.Data = None,
    offline: choices.Offline = False,
) -> None:
    """Write a table with what the model says about every node, every graph, or new links.

    Classes come with the probability of each, numbers with an interval, and both with the true
    answer where it is known. The graph may be another one than the model was trained on, as long
    as its features are the same; its table is prepared as the model's was.
    """
    from pgso.data import DATASETS
    from pgso.data.load import OWN, load_task
    from pgso.models.links import LinkModel
    from pgso.training.base import on_base
    from pgso.training.checkpoint import fitted, load_model, preparation_of
    from pgso.training.prediction import predict_outputs
    from pgso.training.predictions import most_probable_links, prediction_table

    folders.check_destination("--to", to)
    network, spec, header = load_model(model)
    asked = choices.make_spec(dataset, None, options)
    path = Path(dataset).expanduser()
    own = asked.dataset not in DATASETS and (path.is_dir() or path.suffix.lower() in OWN)
    unlabelled = own and path.suffix.lower() != ".npz"
    # A user's folders are read alike, and a dataset as the model saw it.
    alike = asked.dataset == spec.dataset or (own and spec.dataset not in DATASETS)
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
        given = {k: v for k, v in given.items() if k not in ("target", "metric")}
        task = load(**given, unlabelled=True)
    task = on_base(task, spec.base)
    unnamed = header.get("columns") is None or task.columns is None
    task = fitted(header, task)
    if unnamed and asked.dataset != spec.dataset:
        Console(stderr=True, markup=False).print(
            f"note: columns without names are taken to be those of {spec.dataset}, in that order",
            soft_wrap=True,
        )
    if isinstance(network, LinkModel):
        ids = task.ids or range(task.num_nodes)
        columns, rows = most_probable_links(network, task, links, ids)
    else:
        out = predict_outputs(network, task)
        columns, rows = prediction_table(header, out, task, asked.dataset == spec.dataset)
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(columns)
    written = 0
    for row in rows:
        writer.writerow(row)
        written += 1
    write_atomically(to, table.getvalue())
    Console(markup=False).print(f"{written} predictions: {to}", soft_wrap=True)
