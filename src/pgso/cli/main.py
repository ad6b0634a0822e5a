"""``pgso``: the commands, and how their errors are shown."""

import sys

import typer
from rich.console import Console

from pgso.errors import PGSOError

app = typer.Typer(
    name="pgso",
    help="Learn the graph operator instead of hand-picking it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@app.callback()
def main() -> None:
    """Learn the graph operator instead of hand-picking it."""


def run() -> None:
    """Run the command line; an error of ours is one sentence on stderr and exit code 2."""
    try:
        app()
    except PGSOError as error:
        Console(stderr=True, highlight=False).print(f"error: {error}", markup=False, soft_wrap=True)
        sys.exit(2)
