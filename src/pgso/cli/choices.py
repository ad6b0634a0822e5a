"""The options of the commands, made from the fields of a RunSpec; the spec they make; its files."""

import functools
import itertools
import json
import os
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Any

import typer

from pgso.data.dataset import DATASETS, suited
from pgso.errors import InputError, UnknownNameError
from pgso.records import RunRecord, RunSpec, Store
from pgso.records.data import DataRecord
from pgso.records.files import fingerprint

SCHEMA = RunSpec.model_json_schema()["properties"]
KINDS = {"boolean": bool, "integer": int, "number": float}  # others are texts for the spec to read
LONGEST = 80  # letters of the name of a folder


def with_spec(without: Mapping[str, str]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command every choice of a run as an option, and call it with the spec they make.

    The function takes ``spec`` and its own options. ``without`` names choices that the command
    makes itself, and what decides them.
    """
    fields = [name for name in SCHEMA if "panel" in SCHEMA[name] and name not in without]

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(function)
        def run(*, dataset: str, settings: Any, options: Any, **given: Any) -> None:
            for name in pairs(settings).keys() & without.keys():  # it would be overridden silently
                raise InputError(f"--set cannot change {name} here: {without[name]}")
            chosen = {name: given.pop(name) for name in fields}
            function(spec=make_spec(dataset, settings, options, **chosen), **given)

        typed: dict[str, Any] = {"dataset": (str, DATASET)}
        typed |= {name: option(name) for name in fields}
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


def option(name: str) -> tuple[Any, Any]:
    """A choice of a run as typer reads it: its type and its option; None: nothing was said."""
    field, long = SCHEMA[name], f"--{name.replace('_', '-')}"
    hints = [hint for hint in field.get("anyOf", [field]) if hint.get("type") != "null"]
    words = [
        w for hint in hints for w in hint.get("enum", [hint["const"]] if "const" in hint else [])
    ]
    kind: Any = KINDS.get(hints[0]["type"], str) if len(hints) == 1 else str
    flag = field["option"] or long
    names = [f"{flag}/--no-{flag[2:]}"] if kind is bool else list(dict.fromkeys([flag, long]))
    about = field["description"]
    if len(words) > 1:
        about = f"{about.removesuffix('.')} ({' | '.join(words)})."
    usual = field["default"]
    if isinstance(usual, bool):
        usual = "on" if usual else "off"
    usual = field["usual"] or ("none" if usual in (None, []) else str(usual))
    shape = {"metavar": ""} if kind is bool else {}
    return kind | None, opt(field["panel"], about, None, *names, show_default=usual, **shape)


def opt(panel: str, about: str, default: Any = None, *names: str, **more: Any) -> Any:
    """An option of a command: its panel in the help, the sentence there, and its default."""
    title = "Operator S" if panel == "S" else panel.capitalize()
    more |= {"metavar": ""} if isinstance(default, bool) else {}  # a flag, not "--json <bool>"
    return typer.Option(default, *names, help=about, rich_help_panel=title, **more)


def _go_offline(offline: bool) -> bool:
    """Set ``$PGSO_OFFLINE``, which worker processes inherit."""
    if offline:
        os.environ["PGSO_OFFLINE"] = "1"
    return offline


def _device(name: str) -> str:
    """Refuse a device that cannot exist, also where the record is there and nothing is run."""
    if not re.fullmatch(r"auto|cpu|(cuda|mps|xpu)(:\d+)?", name):
        raise InputError(f"no device is called {name!r}; choose cpu, cuda, cuda:1, ... or auto")
    return name


def check_destination(option: str, path: Path | None, folder: bool = False) -> Path | None:
    """Refuse, before the work, a place that cannot be written to after it; leave nothing there."""
    if path is None:
        return None
    if path.exists() and path.is_dir() != folder:
        kind = "a folder" if folder else "a file"
        raise InputError(f"{option} must name {kind}, and {path} is not one; choose another name")
    target = path if folder else path.parent
    # Folders that are not there yet are made by what is written, in the first one that is there.
    there = next(filter(os.path.lexists, (target, *target.parents)), target)
    try:
        with tempfile.TemporaryFile(dir=there):
            return path
    except OSError as error:
        raise InputError(
            f"{option} {path} cannot be written to ({error.strerror}); choose another place"
        ) from None


def _model(path: Path | None) -> Path | None:
    """Refuse, before the work, a place where no model can be saved."""
    if path is None or path.suffix == ".safetensors":
        return check_destination("--save", path)
    from pgso.saved import check_folder

    check_folder(path)
    check_destination("--save", path.parent, folder=True)
    return path


RUNS = Path("runs")
DATASET: Any = typer.Argument(metavar="DATASET", help=SCHEMA["dataset"]["description"])
PAIR: Any = {"metavar": "NAME=VALUE"}
SETTINGS = opt(
    "training", "Any choice as in Python, e.g. norm=batch; may be repeated.", None, "--set", **PAIR
)
DATA_OPTIONS = opt(
    "data", "An option of the data, e.g. rows=50; may be repeated.", None, "--option", **PAIR
)
OUT = opt(
    "output",
    "Where records and reports go.",
    RUNS,
    callback=lambda path: check_destination("--out", path, folder=True),
)
SAVE = opt(
    "output",
    "Write the model to this folder, for pgso predict.",
    metavar="DIR",
    callback=_model,
    show_default="in --out if the data are your own folder",
)
DATA = opt("data", "Where datasets are.", show_default="$PGSO_DATA, or ~/.cache/pgso")
OFFLINE = opt(
    "data",
    "Download nothing, and write nothing into the data folder.",
    False,
    "--offline",
    envvar="PGSO_OFFLINE",
    callback=_go_offline,
)
WORKERS = opt("machine", "Processes, one thread each.", os.cpu_count() or 1, min=1)
ENGINE = opt("machine", "What runs the workers.", "local")
ADDRESS = opt(
    "machine", "The address of a running Ray cluster.", show_default="one is started here"
)
DEVICE = opt(
    "machine", "cpu | cuda | cuda:1 | auto: a GPU if there is one.", "auto", callback=_device
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
    for name in {"dataset", "data_options"} & given.keys():
        instead = "the argument" if name == "dataset" else "--option NAME=VALUE"
        raise InputError(f"--set cannot change {name}; give it by {instead}")
    if "complete" in given:  # how records are read, and no choice
        raise UnknownNameError("choice", "complete", RunSpec.model_fields)
    return suited(RunSpec(dataset=dataset, **given, data_options=pairs(data_options)))


def read_choice(name: str, value: Any) -> Any:
    """What was typed for a choice, as a spec takes it: lists are separated by commas."""
    if name == "learn" and value in ("true", "false"):
        return value == "true"
    is_list = name in ("terms", "sample", "presets", "learn")
    if isinstance(value, str) and (is_list or (name == "preset" and "," in value)):
        return [part.strip() for part in value.strip("()[] ").split(",")]
    return value


def pairs(texts: list[str] | None) -> dict[str, Any]:
    """``["norm=batch", "heads=4"]`` as a dictionary; values are JSON where they can be."""
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


def own_model(spec: RunSpec, out: Path) -> Path | None:
    """Where the model of a run on the user's own folder is saved, one per state of its files."""
    if not is_own_folder(spec.dataset):
        return None
    mark = f"{spec.key[:4]}{(fingerprint(spec.dataset) or '')[:4]}"
    return out / "models" / f"{folder_name(Path(spec.dataset).name)}-{mark}"


def is_own_folder(dataset: str) -> bool:
    """Whether this is a folder of the user's; the name of a dataset comes first."""
    return dataset not in DATASETS and Path(dataset).expanduser().is_dir()


def about_model(path: Path) -> str:
    """Where a model was saved, and how large it is."""
    files = list(path.iterdir()) if path.is_dir() else [path]
    size = sum(file.stat().st_size for file in files)
    said = f"{size / 1e6:.1f} MB" if size >= 100_000 else f"{size / 1e3:.0f} kB"
    return f"model: {path} ({said}); use it on new rows"


def folder_name(*parts: str) -> str:
    """``find-my-bank``; a path of several folders, and what is too long, ends in a mark of it."""
    whole = "-".join(part.removeprefix("./").rstrip("/") or "dataset" for part in parts)
    text = re.sub(r"[^\w-]", "-", whole).strip("-").lower()
    if "/" not in whole and len(text) <= LONGEST:
        return text
    mark = sha256(whole.encode(errors="surrogateescape")).hexdigest()[:8]
    return f"{text[: LONGEST - 9].rstrip('-')}-{mark}"


def numbered(folder: Path, holds_the_same: Callable[[Path], bool]) -> Path:
    """``bank``, ``bank-2``, ...: the first that is free, or holds the same result."""
    for number in itertools.count(1):
        place = folder if number == 1 else folder.with_name(f"{folder.name}-{number}")
        if not place.exists():
            return place
        with suppress(InputError):  # a damaged file is left alone
            if holds_the_same(place):
                return place
    raise AssertionError("unreachable")


def data_of(records: Sequence[RunRecord], store: Store, data: Path | None) -> list[DataRecord]:
    """What is known about the data of some runs, one per seed; what is computed is stored."""
    described = []
    for spec in {record.spec.seed: record.spec for record in records}.values():
        known = store.data(spec)
        if known is None:
            from pgso.evaluation.baselines import data_record  # torch is loaded only to compute

            known = data_record(spec, data)
            store.put_data(known)
        described.append(known)
    return described
