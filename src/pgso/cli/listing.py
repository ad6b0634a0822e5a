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


LISTS = Registry("list", {"presets": _presets})


@app.command("list")
def list_(
    what: Annotated[str | None, typer.Argument(help=" | ".join(LISTS))] = None,
) -> None:
    """Show what is there: presets."""
    console = Console()
    for name in [what] if what else LISTS:
        console.print(LISTS[name]())
