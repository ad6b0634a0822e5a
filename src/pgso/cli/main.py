"""``pgso``: the commands, and how their errors are shown."""

import os
import shlex
import sys
import tempfile
import traceback
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from pgso.cli.terminal import Console, visible
from pgso.errors import PGSOError
from pgso.training.freed_memory import keep_freed_memory

INTERRUPTED = 130  # what typer makes of Ctrl-C
BUG = 70  # what sysexits.h calls an error of the software itself
MOST_LETTERS = 1_000  # of an error: a file may hold a name of a million


class Commands(TyperGroup):
    """Commands whose errors are one sentence on stderr and exit code 2, typer's own included."""

    def main(self, *args: Any, **options: Any) -> NoReturn:
        """Run a command, which finds what was typed in its context, and end the process."""
        given = args[0] if args else options.get("args")
        typed = shlex.join(["pgso", *(sys.argv[1:] if given is None else given)])
        try:
            code = super().main(*args, **{**options, "standalone_mode": False, "obj": typed})
        except PGSOError as error:
            fail(str(error))
        except OSError as error:
            fail(f"{error.strerror or error}: {error.filename}" if error.filename else str(error))
        except Exception as error:
            if hasattr(error, "format_message"):  # one of typer's
                context = getattr(error, "ctx", None)
                where = context.command_path if context else "pgso"
                fail(f"{error.format_message().rstrip('.')}; see {where} --help")
            fail(*explained(error))
        if code == INTERRUPTED:
            fail("stopped; the same command keeps what is done and goes on", code)
        sys.exit(code if isinstance(code, int) else 0)


def explained(error: Exception) -> tuple[str, int]:
    """A sentence, and an exit code, for an error that no code of ours expects.

    What a machine or a strange input may cause is said in words. The rest is a bug of ours, whose
    trace goes to a file.
    """
    if isinstance(error, MemoryError) or "allocate memory" in str(error):
        return "the memory of this machine is not enough; take a smaller graph or model", 2
    if isinstance(error, RecursionError):
        return "something in the input is nested too deeply", 2
    if isinstance(error, UnicodeError):
        return f"something in the input is not UTF-8 ({error})", 2
    handle, trace = tempfile.mkstemp(prefix="pgso-bug-", suffix=".txt")
    with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write("".join(traceback.format_exception(error)))
    what = f"{type(error).__name__}: {str(error)[: MOST_LETTERS // 2]}"
    return f"this is a bug of pgso ({what}); please report it with the file {trace}", BUG


def fail(sentence: str, code: int = 2) -> NoReturn:
    """Say what is wrong on stderr, on one line however narrow the terminal, and end."""
    line = visible(sentence, keep="")
    if len(line) > MOST_LETTERS:
        line = f"{line[: MOST_LETTERS - 3]}..."
    console = Console(stderr=True, highlight=False)
    console.print(f"error: {line}", markup=False, soft_wrap=True)
    sys.exit(code)


app = typer.Typer(
    name="pgso",
    cls=Commands,
    help="Learn the graph operator instead of hand-picking it.",
    epilog="Start with: pgso compare minesweeper --seeds 3",
    invoke_without_command=True,
    pretty_exceptions_enable=False,
)


@app.callback()
def main(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", help="Show the version and exit."),
) -> None:
    """Learn the graph operator instead of hand-picking it."""
    if version:
        import pgso

        typer.echo(pgso.__version__)
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def examples(*commands: str) -> str:
    """The end of a command's help: one example a line."""
    return "\n\n".join(["Examples:", *(f"  {command}" for command in commands)])


def run() -> None:
    """The entry point of ``pgso``."""
    keep_freed_memory()
    app()
