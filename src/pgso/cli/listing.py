"""``pgso list``: what is there."""

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from pgso.cli.main import app
from pgso.gso.parameters import NAMES
from pgso.gso.presets import PRESETS
from pgso.registry import Registry


def _presets() -> Table:
    table = Table("preset", *NAMES)
    for name, S in PRESETS.items():
        table.add_row(name, *(f"{value:g}" for value in S))
    return table


def _datasets() -> Table:
    from pgso.data import DATASETS
    from pgso.data.dataset import Sizes
    from pgso.data.places import data_root

    root = data_root()
    table = Table("dataset", *Sizes._fields, "files", box=None)  # names stay whole in 80 columns
    for column in table.columns[1:6]:
        column.justify = "right"
    for dataset in sorted(DATASETS.values(), key=lambda dataset: dataset.name.lower()):
        sizes = ["-"] * 5 if dataset.sizes is None else map("{:,}".format, dataset.sizes)
        files = "no need" if not dataset.files else "absent" if dataset.missing(root) else "here"
        table.add_row(dataset.name, *sizes, files)
    table.caption = f"totals over all graphs, edges directed; files are looked for in {root}"
    return table


def _convs() -> Table:
    from pgso.convs import CONVS

    table = Table("conv", "starts at", "")
    for name, conv in CONVS.items():
        table.add_row(name, conv.preset, (conv.__doc__ or "").splitlines()[0])
    return table


def _experiments() -> Table:
    from pgso.experiments import EXPERIMENTS

    table = Table("experiment", "paper", "")
    for name, study in EXPERIMENTS.items():
        table.add_row(name, study.paper, study.title)
    return table


LISTS = Registry(
    "list",
    {
        "presets": _presets,
        "convs": _convs,
        "datasets": _datasets,
        "experiments": _experiments,
    },
)


@app.command("list")
def list_(
    what: Annotated[str | None, typer.Argument(help=" | ".join(LISTS))] = None,
) -> None:
    """Show what is there: presets, convs, datasets, experiments."""
    console = Console()
    for name in [what] if what else LISTS:
        console.print(LISTS[name]())
