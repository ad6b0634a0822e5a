"""``pgso``: the commands, and how their errors are shown."""

import io
import os
import shlex
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable
from importlib import import_module
from typing import Any, NoReturn, TypeVar

import typer
from typer.core import TyperGroup
from typer.main import get_group

from pgso.errors import PGSOError

# Every command, the file that holds it, imported when it is called, and a sentence of help.
COMMANDS = {
    "find": ("find", "Which operator does this graph want? Seconds, in closed form."),
    "compare": ("compare", "Does learning the operator pay? Paired runs, and a verdict."),
    "train": ("train", "Train one model."),
    "predict": ("predict", "Apply a saved model."),
    "explain": ("predict", "Which columns and edges matter to a saved model?"),
    "spectrum": ("spectrum", "Show where the eigenvalues of an operator lie."),
    "run": ("run", "Run a study of the paper."),
    "report": ("run", "Draw pages from records again; trains nothing."),
    "list": ("listing", "Show what is there: datasets, presets, convs, ..."),
    "doctor": ("listing", "Show what a run will find on this machine."),
}
F = TypeVar("F", bound=Callable[..., Any])
INTERRUPTED = 130  # what typer makes of Ctrl-C
BUG = 70  # what sysexits.h calls an error of the software itself
MOST_LETTERS = 1_000  # of an error: a file may hold a name of a million


class Commands(TyperGroup):
    """Commands whose errors are one sentence on stderr and exit code 2, typer's own included."""

    def resolve_command(self, context: Any, args: list[str]) -> Any:
        """The command that was typed, whose file brings its options, and what follows it."""
        if args and args[0] in COMMANDS:
            import_module(f"pgso.cli.{COMMANDS[args[0]][0]}")
            self.commands = get_group(app).commands
        return super().resolve_command(context, args)

    def main(self, *args: Any, **options: Any) -> NoReturn:
        """Run a command, which finds what was typed in its context, and end the process."""
        given = args[0] if args else options.get("args")
        typed = as_typed(["pgso", *(sys.argv[1:] if given is None else given)])
        try:
            code = super().main(*args, **{**options, "standalone_mode": False, "obj": typed})
        except SystemExit as event:
            if event.code != 1:
                raise
            # typer and rich found nobody to read on: `pgso list | head` has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(0)
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
    """A sentence, and an exit code, for an unexpected error; the trace of a bug goes to a file."""
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
    from pgso.cli.terminal import Console, visible

    line = visible(sentence, keep="")
    if len(line) > MOST_LETTERS:
        line = f"{line[: MOST_LETTERS - 3]}..."
    Console(stderr=True).say(f"error: {line}")
    sys.exit(code)


app = typer.Typer(
    name="pgso",
    cls=Commands,
    help="Learn the graph operator instead of hand-picking it.",
    epilog="Start with: pgso find minesweeper",
    invoke_without_command=True,
    pretty_exceptions_enable=False,
)


@app.callback()
def main(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", metavar="", help="Show the version and exit."),
) -> None:
    """Learn the graph operator instead of hand-picking it."""
    if version:
        import pgso

        typer.echo(pgso.__version__)
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def later() -> None:
    """Stands for a command until its file is imported."""


for _name, (_, _sentence) in COMMANDS.items():
    app.command(_name, help=_sentence)(later)


def as_typed(words: list[str]) -> str:
    """A command as it would be typed again in this system's shell."""
    return subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(words)


def command(name: str, *examples: str) -> Callable[[F], F]:
    """Make a function a command; its help ends with the examples, one a line."""
    epilog = "\n\n".join(["Examples:", *(f"  {example}" for example in examples)])
    return app.command(name, epilog=epilog)


def loaded_commands() -> dict[str, Any]:
    """Every command with its options, for references and tests."""
    for file, _ in COMMANDS.values():
        import_module(f"pgso.cli.{file}")
    return dict(get_group(app).commands)


def run() -> None:
    """The entry point of ``pgso``."""
    from pgso.training.engines import keep_freed_memory

    for stream in (sys.stdout, sys.stderr):  # a name or symbol that the terminal lacks is escaped
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    os.environ.setdefault("PYTHONSAFEPATH", "1")  # workers import nothing from the current folder
    keep_freed_memory()
    app()
