"""``pgso list`` and ``pgso doctor``: what is there, and what a run will find on this machine."""

import json
import os
import platform
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import typer
from rich.table import Table

from pgso.cli import choices
from pgso.cli.main import command
from pgso.cli.run import has_studies, studies
from pgso.cli.terminal import Console
from pgso.errors import UnknownNameError
from pgso.gso.parameters import PRESETS

Row = dict[str, Any]
LISTS = ("presets", "convs", "datasets", "experiments", "objectives")
NEEDED = ("torch", "torch_geometric", "numpy", "scipy", "scikit-learn", "networkx", "typer", "rich")
EXTRAS = {"ray": "cluster", "mkdocs-material": "docs", "rdkit": "molecules", "optuna": "search"}
EXTRAS |= {"tensorboard": "tensorboard"}


def listed(what: str, data: Path | None = None) -> list[Row]:
    """One row per preset, conv, dataset, study of the paper or objective."""
    rows: list[Row] = []
    if what == "presets":
        return [{"preset": name, **S._asdict()} for name, S in PRESETS.items()]
    if what == "experiments":
        return [
            {"experiment": name, "paper": study.paper, "about": study.title}
            for name, study in studies().EXPERIMENTS.items()
        ]
    if what == "convs":
        from pgso.convs import CONVS

        return [
            {"conv": name, "preset": conv.preset, "about": (conv.__doc__ or "").splitlines()[0]}
            for name, conv in CONVS.items()
        ]
    if what == "objectives":
        from pgso.objectives import OBJECTIVES
        from pgso.objectives.objective import ANSWERS

        for name, one in OBJECTIVES.items():
            better = "larger" if one.larger_is_better else "smaller"
            row = {"objective": name, "scores": ANSWERS[one.answer], "better": better}
            rows.append(row | {"about": (one.__doc__ or "").splitlines()[0]})
        return rows
    if what != "datasets":
        raise UnknownNameError("list", what, LISTS)
    from pgso.data import DATASETS
    from pgso.data.dataset import Sizes
    from pgso.data.places import data_root

    root = data_root(data)
    for dataset in sorted(DATASETS.values(), key=lambda dataset: dataset.name.lower()):
        sizes = dict.fromkeys(Sizes._fields) if dataset.sizes is None else dataset.sizes._asdict()
        files = "no need" if not dataset.files else "absent" if dataset.missing(root) else "here"
        rows.append({"dataset": dataset.name, **sizes, "files": files})
    return rows


@command("list", "pgso list datasets", "pgso list presets --json")
def list_(
    what: str | None = typer.Argument(None, help=" | ".join(LISTS)),
    as_json: bool = choices.AS_JSON,
) -> None:
    """Show what is there: presets, convs, datasets, experiments, objectives."""
    from pgso.data.places import data_root

    names = [what] if what else [n for n in LISTS if n != "experiments" or has_studies()]
    lists = {name: listed(name) for name in names}
    if as_json:
        typer.echo(json.dumps(lists))
        return
    for name, rows in lists.items():
        table = Table(box=None)  # names stay whole in 80 columns
        for column in rows[0]:
            is_number = any(isinstance(row[column], int | float) for row in rows)
            table.add_column(column, justify="right" if is_number else "left")
        for row in rows:
            table.add_row(*map(_cell, row.values()))
        if name == "datasets":
            table.caption = f"totals over all graphs, edges directed; files belong in {data_root()}"
        Console().print(table)


@command("doctor", "pgso doctor", "pgso doctor --data ./data --json")
def doctor(data: Path | None = choices.DATA, as_json: bool = choices.AS_JSON) -> None:
    """Show versions, threads, backends, the data root and which datasets are there."""
    import torch

    import pgso
    from pgso.data.places import data_root, is_writable

    has_affinity, root = hasattr(os, "sched_getaffinity"), data_root(data)
    versions = {one.name.lower().replace("_", "-"): one.version for one in distributions()}
    names: dict[str, list[str]] = {"here": [], "no need": [], "absent": []}
    for row in listed("datasets", data):
        names[row["files"]].append(row["dataset"])
    sections: dict[str, Row] = {
        "versions": {"pgso": pgso.__version__, "python": platform.python_version()}
        | {name: versions.get(name.replace("_", "-")) for name in NEEDED},
        "extras": {
            f"{package} [{extra}]": versions.get(package) or f"absent: pip install 'pgso[{extra}]'"
            for package, extra in EXTRAS.items()
        },
        "threads": {
            "cores": len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count(),
            "torch": torch.get_num_threads(),
            "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS"),
        },
        "backends": {  # torch's fast paths; the sparse product in float64 uses MKL's
            "cuda": torch.cuda.is_available(),
            "mkl": torch.backends.mkl.is_available(),
            "openmp": torch.backends.openmp.is_available(),
        },
        "data": {
            "root": str(root),
            "downloads are kept there": is_writable(root),
            "here": names["here"],
            "need no files": names["no need"],
            "absent": names["absent"],
        },
    }
    if as_json:
        typer.echo(json.dumps(sections))
        return
    console = Console()
    for title, rows in sections.items():
        table = Table(box=None, show_header=False, title=title, title_justify="left")
        for name, value in rows.items():
            table.add_row(f"  {name}", _cell(value))
        console.print(table)


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(value) or "none"
    if isinstance(value, int | float):
        return f"{value:,}"
    return "-" if value is None else str(value)
