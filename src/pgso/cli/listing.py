"""``pgso list``: what is there."""

import json
from collections.abc import Callable
from typing import Annotated, Any

import typer
from rich.table import Table

from pgso.cli import choices
from pgso.cli.main import command
from pgso.cli.terminal import Console
from pgso.gso.presets import PRESETS
from pgso.registry import Registry

Row = dict[str, Any]


def presets() -> list[Row]:
    """Every preset and its S."""
    return [{"preset": name, **S._asdict()} for name, S in PRESETS.items()]


def datasets() -> list[Row]:
    """Every dataset, its published sizes, and whether its files are there."""
    from pgso.data import DATASETS
    from pgso.data.dataset import Sizes
    from pgso.data.places import data_root

    root, unknown = data_root(), dict.fromkeys(Sizes._fields)
    rows = []
    for dataset in sorted(DATASETS.values(), key=lambda dataset: dataset.name.lower()):
        sizes = unknown if dataset.sizes is None else dataset.sizes._asdict()
        files = "no need" if not dataset.files else "absent" if dataset.missing(root) else "here"
        rows.append({"dataset": dataset.name, **sizes, "files": files})
    return rows


def convs() -> list[Row]:
    """Every base architecture, and the preset its operator starts at."""
    from pgso.convs import CONVS

    return [
        {"conv": name, "preset": conv.preset, "about": (conv.__doc__ or "").splitlines()[0]}
        for name, conv in CONVS.items()
    ]


def experiments() -> list[Row]:
    """Every study, and what of the paper it reproduces."""
    from pgso.cli.run import studies

    return [
        {"experiment": name, "paper": study.paper, "about": study.title}
        for name, study in studies().EXPERIMENTS.items()
    ]


def objectives() -> list[Row]:
    """Every objective, what it scores, and which way is better."""
    from pgso.objectives import OBJECTIVES
    from pgso.objectives.objective import ANSWERS

    return [
        {
            "objective": name,
            "scores": ANSWERS[objective.answer],
            "better": "larger" if objective.larger_is_better else "smaller",
            "about": (objective.__doc__ or "").splitlines()[0],
        }
        for name, objective in OBJECTIVES.items()
    ]


LISTS: Registry[Callable[[], list[Row]]] = Registry(
    "list",
    {
        "presets": presets,
        "convs": convs,
        "datasets": datasets,
        "experiments": experiments,
        "objectives": objectives,
    },
)


@command("list", "pgso list datasets", "pgso list presets --json")
def list_(
    what: Annotated[
        str | None,
        typer.Argument(help=" | ".join(LISTS), autocompletion=choices.completing(LISTS)),
    ] = None,
    as_json: choices.AsJson = False,
) -> None:
    """Show what is there: presets, convs, datasets, experiments, objectives."""
    from pgso.cli.run import has_studies

    names = [what] if what else [n for n in LISTS if n != "experiments" or has_studies()]
    lists = {name: LISTS[name]() for name in names}
    if as_json:
        typer.echo(json.dumps(lists))
        return
    for name, rows in lists.items():
        Console().print(_table(name, rows))


def _table(name: str, rows: list[Row]) -> Table:
    table = Table(*rows[0], box=None)  # names stay whole in 80 columns
    for position, column in enumerate(table.columns):
        if any(isinstance(list(row.values())[position], int | float) for row in rows):
            column.justify = "right"
    for row in rows:
        table.add_row(*map(_shown, row.values()))
    if name == "datasets":
        from pgso.data.places import data_root

        table.caption = f"totals over all graphs, edges directed; files belong in {data_root()}"
    return table


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int | float) else str(value)
