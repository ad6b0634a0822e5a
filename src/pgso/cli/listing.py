"""``pgso list`` and ``pgso doctor``: what is there, and what a run will find on this machine."""

import json
import os
import platform
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
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


NEEDED = ("torch", "torch_geometric", "numpy", "scipy", "scikit-learn", "networkx", "typer", "rich")
EXTRAS = {
    "cluster": "ray",
    "docs": "mkdocs-material",
    "molecules": "rdkit",
    "search": "optuna",
    "tensorboard": "tensorboard",
}


@command("doctor", "pgso doctor", "pgso doctor --data ./data --json")
def doctor(data: choices.Data = None, as_json: choices.AsJson = False) -> None:
    """Show versions, threads, backends, the data root and which datasets are there."""
    sections: dict[str, Mapping[str, Any]] = {
        "versions": versions(),
        "extras": extras(),
        "threads": threads(),
        "backends": backends(),
        "data": data_places(data),
    }
    if as_json:
        typer.echo(json.dumps(sections))
        return
    console = Console(highlight=False)
    for title, rows in sections.items():
        table = Table(box=None, show_header=False, title=title, title_justify="left")
        for name, value in rows.items():
            table.add_row(escape(f"  {name}"), escape(_cell(value)))
        console.print(table)


def versions() -> dict[str, str | None]:
    """What is installed of what pgso needs."""
    import pgso

    ours: dict[str, str | None] = {"pgso": pgso.__version__, "python": platform.python_version()}
    return ours | {name: _version(name) for name in NEEDED}


def extras() -> dict[str, str]:
    """Each extra: its version, or how to install it."""
    return {
        f"{package} [{extra}]": _version(package) or f"absent: pip install 'pgso[{extra}]'"
        for extra, package in EXTRAS.items()
    }


def threads() -> dict[str, Any]:
    """How many cores there are, and how many of them torch uses."""
    import torch

    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "cores": usable,
        "torch": torch.get_num_threads(),
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS"),
    }


def backends() -> dict[str, bool]:
    """Which of torch's fast paths there are; the sparse product in float64 uses MKL's."""
    import torch

    return {
        "cuda": torch.cuda.is_available(),
        "mkl": torch.backends.mkl.is_available(),
        "openmp": torch.backends.openmp.is_available(),
    }


def data_places(root: Path | None = None) -> dict[str, Any]:
    """Where data is looked for, and what of it can be used at once."""
    from pgso.data import DATASETS
    from pgso.data.places import data_root, is_writable, processed_root

    folder = data_root(root)
    named = sorted(DATASETS.values(), key=lambda dataset: dataset.name.lower())
    here = [dataset.name for dataset in named if dataset.files and not dataset.missing(folder)]
    return {
        "root": str(folder),
        "downloads are kept there": is_writable(folder),
        "processed copies": str(processed_root()),
        "here": here,
        "need no files": [dataset.name for dataset in named if not dataset.files],
        "absent": [d.name for d in named if d.files and d.name not in here],
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(value) or "none"
    return "not set" if value is None else str(value)
