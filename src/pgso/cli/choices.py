"""The options that several commands share, and the spec they make."""

import json
import math
import os
import re
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from pgso.cli.columns import show_columns
from pgso.cli.completion import (
    BASE_NAMES,
    completing,
    conv_names,
    dataset_names,
    options_of,
    settings_of,
    terms_of,
    words_of,
)
from pgso.cli.terminal import Console
from pgso.data.dataset import suited
from pgso.errors import InputError, UnknownNameError
from pgso.gso.parameters import PGSOParameters
from pgso.gso.presets import PRESETS
from pgso.objectives import OBJECTIVES
from pgso.records import RunSpec
from pgso.records.spec import RECIPES
from pgso.training.workers import start_loading


def usual(name: str) -> str:
    """The default of a choice, for the help; a dataset or a recipe may suggest another one."""
    default = RunSpec.model_fields[name].default
    return "off" if default is False else "none" if default is None else str(default)


def go_offline(offline: bool) -> bool:
    """Set ``$PGSO_OFFLINE``, which worker processes inherit."""
    if offline:
        os.environ["PGSO_OFFLINE"] = "1"
    return offline


DatasetName = Annotated[
    str,
    typer.Argument(
        metavar="DATASET",
        help="A name (pgso list datasets) or your own folder.",
        autocompletion=dataset_names,
    ),
]
Conv = Annotated[
    str | None,
    typer.Option(
        help="Base architecture: pgso list convs.",
        show_default=usual("conv"),
        autocompletion=conv_names,
    ),
]
Operator = Annotated[
    str,
    typer.Option(
        help=" | ".join(words_of("operator")), autocompletion=completing(words_of("operator"))
    ),
]
Terms = Annotated[
    str | None,
    typer.Option(
        help="A bank: each term has weights of its own, e.g. self,gcn@in,gcn@out.",
        show_default="none",
        autocompletion=terms_of,
    ),
]
Basis = Annotated[
    str | None,
    typer.Option(
        help=f"A polynomial filter: {' | '.join(words_of('basis'))}.",
        show_default="none",
        autocompletion=completing(words_of("basis")),
    ),
]
Degree = Annotated[
    int | None, typer.Option(help="The degree of a filter.", min=0, show_default="10")
]
Epochs = Annotated[
    int | None,
    typer.Option(help="Passes over the training data.", min=1, show_default=usual("epochs")),
]
Layers = Annotated[
    int | None,
    typer.Option(
        help="Number of layers.",
        min=1,
        show_default=f"{usual('num_layers')}, or the dataset's",
    ),
]
Hidden = Annotated[
    int | None,
    typer.Option(help="Width of the hidden layers.", min=1, show_default=usual("hidden_channels")),
]
Preset = Annotated[
    str | None,
    typer.Option(
        metavar="NAME | m1,m2,m3,e1,e2,e3,a",
        help="Where S starts: pgso list presets, or seven numbers.",
        show_default="the conv's",
        autocompletion=completing(PRESETS),
    ),
]
Recipe = Annotated[
    str | None,
    typer.Option(
        help=" | ".join(RECIPES), show_default=usual("recipe"), autocompletion=completing(RECIPES)
    ),
]
Base = Annotated[
    str | None,
    typer.Option(
        help=f"Another matrix than A: {' | '.join(BASE_NAMES)}.",
        show_default="A",
        autocompletion=completing(BASE_NAMES),
    ),
]
Task = Annotated[
    str | None,
    typer.Option(
        help="link: predict links.",
        show_default="what the dataset is for",
        autocompletion=completing(words_of("task")),
    ),
]
ObjectiveName = Annotated[
    str | None,
    typer.Option(
        help="What is scored: pgso list objectives.",
        show_default="the dataset's",
        autocompletion=completing(OBJECTIVES),
    ),
]
ClassWeights = Annotated[
    str | None,
    typer.Option(
        help="balanced: rare classes count as much as frequent ones.",
        show_default="all examples count the same",
        autocompletion=completing(words_of("class_weights")),
    ),
]
LogTargets = Annotated[
    bool | None, typer.Option("--log-targets", help="Learn the logarithm of the targets.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Any other choice, e.g. --set norm=batch; may be repeated.",
        autocompletion=settings_of,
    ),
]
DataOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        metavar="NAME=VALUE",
        help="An option of the dataset, e.g. rows=50; may be repeated.",
        autocompletion=options_of,
    ),
]
Out = Annotated[Path, typer.Option(help="Where records and reports go.")]
Data = Annotated[
    Path | None,
    typer.Option(help="Where datasets are.", show_default="$PGSO_DATA, or ~/.cache/pgso"),
]
Offline = Annotated[
    bool,
    typer.Option(
        "--offline",
        envvar="PGSO_OFFLINE",
        callback=go_offline,
        help="Download nothing, and write nothing into the data folder.",
    ),
]
Workers = Annotated[int, typer.Option(help="Processes, one thread each.", min=1)]
Engine = Annotated[Literal["local", "ray"], typer.Option(help="What runs the workers.")]
Address = Annotated[
    str | None,
    typer.Option(help="The address of a running Ray cluster.", show_default="one is started here"),
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print JSON; everything that is not JSON goes to stderr.")
]


def _device(name: str) -> str:
    """Refuse a device that cannot exist, also where the record is there and nothing is run."""
    if not re.fullmatch(r"auto|cpu|(cuda|mps|xpu)(:\d+)?", name):
        raise InputError(f"no device is called {name!r}; choose cpu, cuda, cuda:1, ... or auto")
    return name


Device = Annotated[
    str,
    typer.Option(
        help="cpu | cuda | cuda:1 | auto: a GPU if there is one.",
        callback=_device,
        autocompletion=completing(("auto", "cpu", "cuda")),
    ),
]

RUNS = Path("runs")
CORES = os.cpu_count() or 1


def device_of_runs(device: str) -> str | None:
    """The device for a sweep's runs; None: each finds out for itself."""
    return None if device == "auto" else device


def start_early(engine: str, workers: int) -> None:
    """Load torch, here and where workers are forked from at the same time."""
    if engine == "local" and workers > 1:
        start_loading()
    import_module("pgso.training.preload")


def make_spec(
    dataset: str,
    settings: list[str] | None = None,
    data_options: list[str] | None = None,
    **choices: Any,
) -> RunSpec:
    """What was asked for, with what suits the dataset, as in Python."""
    given = {name: value for name, value in choices.items() if value is not None}
    if isinstance(given.get("terms"), str):
        given["terms"] = [term.strip() for term in given["terms"].split(",")]
    if isinstance(given.get("preset"), str):
        given["preset"] = preset_of(given["preset"])
    given |= pairs(settings)
    for name, instead in (("dataset", "the argument"), ("data_options", "--option NAME=VALUE")):
        if name in given:
            raise InputError(f"--set cannot change {name}; give it by {instead}")
    if "complete" in given:  # how records are read, and no choice
        raise UnknownNameError("choice", "complete", RunSpec.model_fields)
    return suited(RunSpec(dataset=dataset, **given, data_options=pairs(data_options)))


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


def check_names(spec: RunSpec) -> None:
    """Refuse a base, a conv or a preset that there is none of, before anything is loaded."""
    from pgso.bases import BASES
    from pgso.convs import CONVS
    from pgso.gso.presets import resolve

    if spec.base is not None and spec.base not in BASES:
        raise UnknownNameError("base", spec.base, BASES)
    start = CONVS[spec.conv].preset
    resolve(start if spec.preset is None else spec.preset)
    if spec.terms is not None:
        CONVS[spec.conv].check_terms(spec.terms)


def check(
    spec: RunSpec, data: Path | None, needs_test: bool = False, console: Console | None = None
) -> str | None:
    """Refuse, before the first of many runs, what would fail in every one of them.

    Args:
        spec: One of the runs.
        data: Where datasets are.
        needs_test: Whether there must be a test set.
        console: Where to say what became of the columns of a user's table.

    Returns:
        What to be careful with on these data, in a sentence; mostly nothing.
    """
    from pgso.data.load import task_of
    from pgso.models.build import build_model
    from pgso.training.criterion import Criterion
    from pgso.training.fit import advice_on, check_task

    check_names(spec)
    task = task_of(spec, data)
    check_task(spec, task)
    Criterion.of(spec, task)
    if needs_test and task.test.numel() == 0:
        raise InputError(
            f"{task.name} has no test set to compare on; choose another split or protocol"
        )
    build_model(spec, task)
    if console is not None:
        show_columns(console, task)
    return advice_on(task)


def refuse_settings(
    given: list[str] | None, instead: Mapping[str, str], option: str = "--set"
) -> None:
    """Refuse what would be overridden silently, and say what decides it."""
    for name in pairs(given).keys() & instead.keys():
        raise InputError(f"{option} cannot change {name} here: {instead[name]}")


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
