"""``pgso doctor``: what a run will find on this machine."""

import json
import os
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import typer
from rich.markup import escape
from rich.table import Table

from pgso.cli import choices
from pgso.cli.main import command
from pgso.cli.terminal import Console

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
        "data": datasets(data),
    }
    if as_json:
        typer.echo(json.dumps(sections))
        return
    console = Console(highlight=False)
    for title, rows in sections.items():
        table = Table(box=None, show_header=False, title=title, title_justify="left")
        for name, value in rows.items():
            table.add_row(escape(f"  {name}"), escape(_shown(value)))
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


def datasets(root: Path | None = None) -> dict[str, Any]:
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


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(value) or "none"
    return "not set" if value is None else str(value)
