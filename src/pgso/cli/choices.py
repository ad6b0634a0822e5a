"""The options of the commands, made from the fields of a RunSpec, and the spec they make."""

import functools
import inspect
import json
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping
from glob import escape, glob
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

import typer

from pgso.cli.terminal import Console, show_columns
from pgso.data.dataset import suited
from pgso.errors import InputError, UnknownNameError
from pgso.gso.parameters import PGSOParameters
from pgso.gso.presets import PRESETS
from pgso.objectives import OBJECTIVES
from pgso.records import RunSpec

if TYPE_CHECKING:
    from pgso.data import Task

PANELS = {"data": "Data", "network": "Network", "S": "Operator S", "training": "Training"}
OUTPUT = "Output"
Given = Mapping[str, str]  # a choice that a command makes itself, and what decides it


def with_spec(without: Given | None = None) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command every choice of a run as an option, and call it with the spec they make.

    The function takes ``spec`` and its own options. A new field of :class:`RunSpec` is an option
    of every such command.

    Args:
        without: Choices that the command makes itself, and what decides them, for the message
            where somebody gives them by ``--set``.
    """
    without = without or {}
    fields = [
        name
        for name, field in RunSpec.model_fields.items()
        if field.json_schema_extra and name not in without
    ]

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(function)
        def run(*, dataset: str, settings: Any, options: Any, **given: Any) -> None:
            for name in pairs(settings).keys() & without.keys():  # it would be overridden silently
                raise InputError(f"--set cannot change {name} here: {without[name]}")
            chosen = {name: given.pop(name) for name in fields}
            function(spec=make_spec(dataset, settings, options, **chosen), **given)

        own = [p for p in inspect.signature(function).parameters.values() if p.name != "spec"]
        context = [p for p in own if p.annotation is typer.Context]
        hints = {"dataset": DatasetName, **{name: option(name) for name in fields}}
        hints |= {"settings": Settings, "options": DataOptions}
        made = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                annotation=hint,
                default=inspect.Parameter.empty if name == "dataset" else None,
            )
            for name, hint in hints.items()
        ]
        rest = [p.replace(kind=p.KEYWORD_ONLY) for p in own if p not in context]
        parameters = [*(p.replace(kind=p.KEYWORD_ONLY) for p in context), *made, *rest]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        return run

    return decorate


def option(name: str) -> Any:
    """A choice of a run as an option of a command; None: nothing was said.

    Name, type, default and help come from the field of :class:`RunSpec`.
    """
    field = RunSpec.model_fields[name]
    extra: Any = field.json_schema_extra
    kind, words = _kind(field.annotation), words_of(name)
    flag = extra["option"] or f"--{name.replace('_', '-')}"
    long = f"--{name.replace('_', '-')}"
    names = [f"{flag}/--no-{flag[2:]}"] if kind is bool else list(dict.fromkeys([flag, long]))
    about = field.description or ""
    if len(words) > 1:
        about = f"{about.removesuffix('.')} ({' | '.join(words)})."
    usual = "none" if field.default in (None, ()) else str(field.default)
    if isinstance(field.default, bool):
        usual = "on" if field.default else "off"
    return Annotated[
        kind | None,
        typer.Option(
            *names,
            help=about,
            show_default=extra["usual"] or usual,
            rich_help_panel=PANELS[extra["panel"]],
            autocompletion=COMPLETED.get(name) or completing(words),
        ),
    ]


def _kind(hint: Any) -> type:
    """What typer reads: a flag, a number, or a text that the spec takes apart."""
    kinds = {bool, int, float}
    if get_origin(hint) is Annotated:
        return _kind(get_args(hint)[0])
    if get_origin(hint) in (Union, UnionType):
        found = {_kind(part) for part in get_args(hint) if part is not type(None)}
        return found.pop() if len(found) == 1 else str
    return hint if hint in kinds else str


def words_of(name: str) -> tuple[str, ...]:
    """The words that a choice of a run may be.

    Example:
        >>> words_of("norm")
        ('batch', 'layer')
    """
    hint = RunSpec.model_fields[name].annotation
    return next((get_args(h) for h in (hint, *get_args(hint)) if get_origin(h) is Literal), ())


def completing(names: Iterable[str]) -> Callable[[str], list[str]]:
    """What the shell offers after TAB; only names that are known without importing torch."""
    return lambda incomplete: [name for name in names if name.startswith(incomplete)]


def dataset_names(incomplete: str) -> list[str]:
    """What the shell offers for a dataset: names, and folders of this place."""
    from pgso.data import DATASETS

    names = completing(dataset.name for dataset in DATASETS.values())(incomplete)
    found = names or completing(DATASETS)(incomplete)  # small letters will do
    return sorted(found) + sorted(glob(f"{escape(incomplete)}*/"))


def settings_of(incomplete: str) -> list[str]:
    """What the shell offers after ``--set``: the names of choices, then the words of one."""
    name, equals, value = incomplete.partition("=")
    if not equals:
        return completing(f"{field}=" for field in RunSpec.model_fields)(incomplete)
    words = words_of(name) if name in RunSpec.model_fields else ()
    return [f"{name}={word}" for word in completing(words)(value)]


COMPLETED = {  # the names of convs and bases import torch, so they are written here again
    "conv": completing(("bank", "filter", "gat", "gcn", "gin", "sgc")),
    "base": completing(("heat", "non-backtracking", "ppr", "undirected")),
    "preset": completing(PRESETS),
    "objective": completing(OBJECTIVES),
}


def go_offline(offline: bool) -> bool:
    """Set ``$PGSO_OFFLINE``, which worker processes inherit."""
    if offline:
        os.environ["PGSO_OFFLINE"] = "1"
    return offline


def _device(name: str) -> str:
    """Refuse a device that cannot exist, also where the record is there and nothing is run."""
    if not re.fullmatch(r"auto|cpu|(cuda|mps|xpu)(:\d+)?", name):
        raise InputError(f"no device is called {name!r}; choose cpu, cuda, cuda:1, ... or auto")
    return name


DatasetName = Annotated[
    str,
    typer.Argument(
        metavar="DATASET",
        help="A name (pgso list datasets) or your own folder.",
        autocompletion=dataset_names,
    ),
]
ObjectiveName = option("objective")
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Any choice by its name in Python, e.g. --set norm=batch; may be repeated.",
        rich_help_panel=PANELS["training"],
        autocompletion=settings_of,
    ),
]
DataOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        metavar="NAME=VALUE",
        help="An option of the dataset, e.g. rows=50; may be repeated.",
        rich_help_panel=PANELS["data"],
    ),
]
Out = Annotated[Path, typer.Option(help="Where records and reports go.", rich_help_panel=OUTPUT)]
Data = Annotated[
    Path | None,
    typer.Option(
        help="Where datasets are.",
        show_default="$PGSO_DATA, or ~/.cache/pgso",
        rich_help_panel=PANELS["data"],
    ),
]
Offline = Annotated[
    bool,
    typer.Option(
        "--offline",
        envvar="PGSO_OFFLINE",
        callback=go_offline,
        help="Download nothing, and write nothing into the data folder.",
        rich_help_panel=PANELS["data"],
    ),
]
MACHINE = "Machine"
Workers = Annotated[
    int, typer.Option(help="Processes, one thread each.", min=1, rich_help_panel=MACHINE)
]
Engine = Annotated[
    Literal["local", "ray"],
    typer.Option(help="What runs the workers.", rich_help_panel=MACHINE),
]
Address = Annotated[
    str | None,
    typer.Option(
        help="The address of a running Ray cluster.",
        show_default="one is started here",
        rich_help_panel=MACHINE,
    ),
]
Device = Annotated[
    str,
    typer.Option(
        help="cpu | cuda | cuda:1 | auto: a GPU if there is one.",
        callback=_device,
        rich_help_panel=MACHINE,
        autocompletion=completing(("auto", "cpu", "cuda")),
    ),
]
AsJson = Annotated[
    bool,
    typer.Option(
        "--json",
        help="Print JSON; everything that is not JSON goes to stderr.",
        rich_help_panel=OUTPUT,
    ),
]

RUNS = Path("runs")
CORES = os.cpu_count() or 1


def make_spec(
    dataset: str,
    settings: list[str] | None = None,
    data_options: list[str] | None = None,
    **choices: Any,
) -> RunSpec:
    """What was asked for, with what suits the dataset, as in Python."""
    given = {name: read_choice(name, value) for name, value in choices.items() if value is not None}
    given |= pairs(settings)
    for name, instead in (("dataset", "the argument"), ("data_options", "--option NAME=VALUE")):
        if name in given:
            raise InputError(f"--set cannot change {name}; give it by {instead}")
    if "complete" in given:  # how records are read, and no choice
        raise UnknownNameError("choice", "complete", RunSpec.model_fields)
    return suited(RunSpec(dataset=dataset, **given, data_options=pairs(data_options)))


def read_choice(name: str, value: Any) -> Any:
    """What was typed for a choice, as a spec takes it: lists are separated by commas.

    Example:
        >>> read_choice("terms", "self, gcn@in"), read_choice("learn", "false")
        (['self', 'gcn@in'], False)
    """
    if name == "preset" and isinstance(value, str):
        return preset_of(value)
    if name == "learn" and value in ("true", "false"):
        return value == "true"
    if name in ("terms", "sample", "presets", "learn") and isinstance(value, str):
        return [part.strip() for part in value.split(",")]
    return value


def preset_of(text: str) -> str | tuple[float, ...]:
    """A preset's name, or S as seven numbers.

    Example:
        >>> preset_of("gcn"), preset_of("0,1,0,0,-0.5,-0.5,1")
        ('gcn', (0.0, 1.0, 0.0, 0.0, -0.5, -0.5, 1.0))
    """
    parts = text.strip("()[] ").split(",")
    if len(parts) == 1:
        return text
    try:
        numbers = tuple(float(part) for part in parts)
    except ValueError:
        numbers = ()
    if len(numbers) != len(PGSOParameters._fields) or not all(map(math.isfinite, numbers)):
        raise InputError(
            f"--preset takes a name or seven numbers {','.join(PGSOParameters._fields)}, such as "
            f"0,1,0,0,-0.5,-0.5,1; got {text!r:.80}"
        )
    return numbers


def checked_task(
    spec: RunSpec, data: Path | None, console: Console, needs_test: bool = False
) -> "Task":
    """The data of some runs. What would fail in every run is refused before the first one.

    Args:
        spec: One of the runs.
        data: Where datasets are.
        console: Where to say what became of the columns of a user's table, and what to be careful
            with on these data.
        needs_test: Whether there must be a test set.
    """
    from pgso.bases import BASES
    from pgso.convs import CONVS
    from pgso.data.load import task_of
    from pgso.gso.presets import resolve
    from pgso.models.build import build_model
    from pgso.training.fit import advice_on, check_task
    from pgso.training.learning import Criterion

    if spec.base is not None and spec.base not in BASES:  # names first: nothing is loaded for them
        raise UnknownNameError("base", spec.base, BASES)
    resolve(CONVS[spec.conv].preset if spec.preset is None else spec.preset)
    if spec.terms is not None:
        CONVS[spec.conv].check_terms(spec.terms)
    task = task_of(spec, data)
    check_task(spec, task)
    Criterion.of(spec, task)
    if needs_test and task.test.numel() == 0:
        raise InputError(
            f"{task.name} has no test set to compare on; choose another split or protocol"
        )
    build_model(spec.but(operator="fixed"), task)  # its widths and terms, whatever S does
    show_columns(console, task)
    if advice := advice_on(task):
        console.print(f"Note: {advice}.", soft_wrap=True)
    return task


def pairs(texts: list[str] | None) -> dict[str, Any]:
    """``["norm=batch", "heads=4"]`` as a dictionary; values are JSON where they can be.

    Example:
        >>> pairs(["norm=batch", "heads=4", "residual=true"])
        {'norm': 'batch', 'heads': 4, 'residual': True}
    """
    settings: dict[str, Any] = {}
    for text in texts or []:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise InputError(f"{text!r} is not of the form NAME=VALUE, such as epochs=100")
        try:
            settings[name] = json.loads(value)
        except (ValueError, RecursionError):  # no JSON, or numbers and nesting without end
            settings[name] = value
    return settings
