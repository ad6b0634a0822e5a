"""Words and colours: how operators and numbers are written in every table, figure and page."""

import shlex
from collections.abc import Sequence
from typing import Any

from pgso.data.dataset import suited
from pgso.records import RunSpec

NONE = "–"  # where a table has no number
IN_MEMORY = "in memory"  # as pgso.data.task, which needs torch, calls data without a name
LABELS = {"fixed": "fixed", "pgso": "PGSO", "mpgso": "mPGSO", "found": "found", "auto": "auto"}
# Colour-blind readers can tell these apart (Okabe and Ito 2008).
OPERATORS = {
    "fixed": "#6b7280",
    "pgso": "#0072b2",
    "mpgso": "#d55e00",
    "found": "#cc79a7",
    "auto": "#009e73",
}


def places(terms: Sequence[str] | None, count: int) -> list[str]:
    """Where each of a model's operators stands: its layer, and in a bank its term."""
    names = [term for term in terms or () if term != "self"]
    if len(names) < 2 or count % len(names):
        return [""] if count == 1 else [f"layer {k + 1}" for k in range(count)]
    if count == len(names):
        return names
    return [f"layer {k // len(names) + 1}, {names[k % len(names)]}" for k in range(count)]


def signed(value: float, digits: int = 1) -> str:
    """A difference with its sign: "+16.2", and "+0.0" of what is rounded to 0."""
    return f"{round(value, digits) + 0.0:+.{digits}f}"


def plain(value: float, digits: int = 1) -> str:
    """A number with so many digits, never "-0.0"."""
    return f"{round(value, digits) + 0.0:.{digits}f}"


def command_of(command: str, spec: RunSpec) -> str:
    """The line that runs a spec, with what its dataset does not suggest; of train, the operator."""
    implying = {"terms": None, "basis": None, "task": None, "recipe": "paper"}  # other choices
    given = {name: getattr(spec, name) for name in ("dataset", *implying)}
    usual = suited(RunSpec(**given)).model_dump() | implying
    words = ["pgso", command, spec.dataset]
    words += ["--operator", spec.operator] if command == "train" else []
    for name, value in spec.model_dump().items():
        if name in ("dataset", "operator", "seed") or value == usual[name]:
            continue
        extra: Any = RunSpec.model_fields[name].json_schema_extra or {}
        flag = extra.get("option") or f"--{name.replace('_', '-')}"
        if name == "data_options":
            changed = {key: entry for key, entry in value.items() if entry != usual[name].get(key)}
            words += [word for key in changed for word in ("--option", f"{key}={changed[key]}")]
        elif value is None:  # a dataset may suggest something else
            words += ["--set", f"{name}=null"]
        elif isinstance(value, bool) and name != "learn":
            words.append(flag if value else f"--no-{flag[2:]}")
        elif isinstance(value, tuple | list):
            words += [flag, ",".join(map(str, value))]
        else:
            words += [flag, "false" if value is False else str(value)]
    return shlex.join(words)


def has_command(spec: RunSpec) -> bool:
    """Whether the command line can run a spec: not of data in memory or of a user's own module."""
    return spec.dataset != IN_MEMORY and spec.conv.islower()
