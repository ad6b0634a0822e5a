"""The options of the commands, made from the fields of a RunSpec, and the spec they make."""

import functools
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from glob import escape, glob
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Any

import typer

from pgso.data.dataset import suited
from pgso.errors import InputError, UnknownNameError
from pgso.gso.presets import PRESETS
from pgso.objectives import OBJECTIVES
from pgso.records import RunSpec

SCHEMA = RunSpec.model_json_schema()["properties"]
KINDS = {"boolean": bool, "integer": int, "number": float}  # others are texts for the spec to read


def with_spec(
    without: Mapping[str, str] | None = None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command every choice of a run as an option, and call it with the spec they make.

    The function takes ``spec`` and its own options. A new field of :class:`RunSpec` is an option
    of every such command.

    Args:
        without: Choices that the command makes itself, and what decides them, for the message
            where somebody gives them by ``--set``.
    """
    without = without or {}
    fields = [name for name in SCHEMA if "panel" in SCHEMA[name] and name not in without]

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(function)
        def run(*, dataset: str, settings: Any, options: Any, **given: Any) -> None:
            for name in pairs(settings).keys() & without.keys():  # it would be overridden silently
                raise InputError(f"--set cannot change {name} here: {without[name]}")
            chosen = {name: given.pop(name) for name in fields}
            function(spec=make_spec(dataset, settings, options, **chosen), **given)

        typed: dict[str, Any] = {"dataset": (str, DATASET)}
        typed |= {name: (kind_and_words(name)[0] | None, option(name)) for name in fields}
        typed |= {"settings": (list[str] | None, SETTINGS)}
        typed |= {"options": (list[str] | None, DATA_OPTIONS)}
        own = {p.name: (p.annotation, p.default) for p in signature(function).parameters.values()}
        typed |= {name: pair for name, pair in own.items() if name != "spec"}
        run.__signature__ = Signature(  # type: ignore[attr-defined]
            [
                Parameter(name, Parameter.KEYWORD_ONLY, annotation=kind, default=default)
                for name, (kind, default) in typed.items()
            ]
        )
        run.__annotations__ = {name: kind for name, (kind, _) in typed.items()}
        return run

    return decorate


def option(name: str) -> Any:
    """A choice of a run as an option of a command; None: nothing was said.

    Name, default and help come from the field of :class:`RunSpec`.
    """
    field, (kind, words) = SCHEMA[name], kind_and_words(name)
    long = f"--{name.replace('_', '-')}"
    flag = field["option"] or long
    names = [f"{flag}/--no-{flag[2:]}"] if kind is bool else list(dict.fromkeys([flag, long]))
    about = field["description"]
    if len(words) > 1:
        about = f"{about.removesuffix('.')} ({' | '.join(words)})."
    usual = field["default"]
    if isinstance(usual, bool):
        usual = "on" if usual else "off"
    usual = "none" if usual in (None, []) else str(usual)
    return opt(
        field["panel"],
        about,
        None,
        *names,
        show_default=field["usual"] or usual,
        autocompletion=COMPLETED.get(name) or completing(words),
    )


def opt(panel: str, about: str, default: Any = None, *names: str, **more: Any) -> Any:
    """An option of a command: its panel in the help, the sentence there, and its default."""
    title = "Operator S" if panel == "S" else panel.capitalize()
    return typer.Option(default, *names, help=about, rich_help_panel=title, **more)


def kind_and_words(name: str) -> tuple[Any, list[str]]:
    """What typer reads for a choice of a run, and the words that it may be.

    Example:
        >>> kind_and_words("norm"), kind_and_words("epochs")
        ((<class 'str'>, ['batch', 'layer']), (<class 'int'>, []))
    """
    hints = [h for h in SCHEMA[name].get("anyOf", [SCHEMA[name]]) if h.get("type") != "null"]
    words = [w for h in hints for w in h.get("enum", [h["const"]] if "const" in h else [])]
    return (KINDS.get(hints[0]["type"], str) if len(hints) == 1 else str), words


def completing(names: Iterable[str]) -> Callable[[str], list[str]]:
    """What the shell offers after TAB; only names that are known without importing torch."""
    return lambda incomplete: [name for name in names if name.startswith(incomplete)]


def dataset_names(incomplete: str) -> list[str]:
    """What the shell offers for a dataset: names, and folders of this place."""
    from pgso.data import DATASETS

    names = completing(dataset.name for dataset in DATASETS.values())(incomplete)
    found = names or completing(DATASETS)(incomplete)  # small letters will do
    return sorted(found) + sorted(glob(f"{escape(incomplete)}*/"))


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


RUNS = Path("runs")
DATASET: Any = typer.Argument(
    metavar="DATASET",
    help="A name (pgso list datasets) or your own folder.",
    autocompletion=dataset_names,
)
SETTINGS = opt(
    "training",
    "Any choice by its name in Python, e.g. --set norm=batch; may be repeated.",
    None,
    "--set",
    metavar="NAME=VALUE",
)
DATA_OPTIONS = opt(
    "data",
    "An option of the dataset, e.g. rows=50; may be repeated.",
    None,
    "--option",
    metavar="NAME=VALUE",
)
OUT = opt("output", "Where records and reports go.", RUNS)
DATA = opt("data", "Where datasets are.", show_default="$PGSO_DATA, or ~/.cache/pgso")
OFFLINE = opt(
    "data",
    "Download nothing, and write nothing into the data folder.",
    False,
    "--offline",
    envvar="PGSO_OFFLINE",
    callback=go_offline,
)
WORKERS = opt("machine", "Processes, one thread each.", os.cpu_count() or 1, min=1)
ENGINE = opt("machine", "What runs the workers.", "local")
ADDRESS = opt(
    "machine", "The address of a running Ray cluster.", show_default="one is started here"
)
DEVICE = opt(
    "machine",
    "cpu | cuda | cuda:1 | auto: a GPU if there is one.",
    "auto",
    callback=_device,
    autocompletion=completing(("auto", "cpu", "cuda")),
)
AS_JSON = opt("output", "Print JSON; everything that is not JSON goes to stderr.", False, "--json")


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
        >>> read_choice("preset", "gcn"), read_choice("preset", "0,1,0,0,-0.5,-0.5,1")[4]
        ('gcn', '-0.5')
    """
    if name == "learn" and value in ("true", "false"):
        return value == "true"
    is_list = name in ("terms", "sample", "presets", "learn")
    if isinstance(value, str) and (is_list or (name == "preset" and "," in value)):
        return [part.strip() for part in value.strip("()[] ").split(",")]
    return value


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
