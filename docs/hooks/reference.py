"""Pages that are generated from the code: the command line, and every choice of a run."""

from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

WITHOUT_SETTINGS = {
    "paper": "nothing: the defaults are the paper’s",
    "strong": "depth, norm, dropout and rates, by dataset: `pgso/records/suggestions.py`",
}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages."""
    for path, make in PAGES.items():
        files.append(File.generated(config, path, content=make()))
    return files


def command_line() -> str:
    """Every command with its arguments and options, as typer knows them."""
    from pgso.cli.main import loaded_commands

    parts = [
        "# Command line\n\nMade from the commands themselves; "
        "`pgso COMMAND --help` shows the same.\n"
    ]
    for name, command in sorted(loaded_commands().items()):
        shown = [
            parameter for parameter in command.params if not getattr(parameter, "hidden", False)
        ]
        words = [
            parameter.name.upper() if parameter.required else f"[{parameter.name.upper()}]"
            for parameter in shown
            if parameter.param_type_name == "argument"
        ]
        parts.append(f"## pgso {name}\n\n{(command.help or '').strip()}\n")
        parts.append(f"    pgso {' '.join([name, *words, '[OPTIONS]'])}\n")
        if shown:
            parts.append("| | | default |\n|---|---|---|")
            parts += [_parameter_row(parameter) for parameter in shown]
            parts.append("")
        lines = [line.strip() for line in (command.epilog or "").splitlines()]
        examples = [line for line in lines if line.startswith("pgso ")]
        if examples:
            parts.append("\n".join(["```bash", *examples, "```", ""]))
    return "\n".join(parts)


def run_choices() -> str:
    """Every choice of a RunSpec: what it may be, its default, what it means."""
    from pgso.records.spec import RECIPES, RunSpec

    hints = RunSpec.__annotations__
    lines = [
        "# Choices of a run\n",
        "Made from `pgso.RunSpec`. Each is an option of the commands (`--norm batch`) and "
        "may be given as `--set NAME=VALUE`. Datasets suggest some (layers, norm), recipes "
        "others; what you say wins.\n",
        "| choice | values | default | |\n|---|---|---|---|",
    ]
    for name, field in RunSpec.model_fields.items():
        default = "needed" if field.is_required() else f"`{field.default!r}`"
        meaning = field.description or ""
        lines.append(
            f"| `{name}` | {_cell(_values(hints[name]))} | {_cell(default)} | {_cell(meaning)} |"
        )
    lines.append("\n## Recipes\n\n| recipe | sets |\n|---|---|")
    for recipe, chosen in RECIPES.items():
        sets = ", ".join(f"`{name}={value!r}`" for name, value in chosen.items())
        lines.append(f"| `{recipe}` | {sets or WITHOUT_SETTINGS[recipe]} |")
    return "\n".join(lines) + "\n"


def _parameter_row(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        names = f"`{parameter.name.upper()}`"
    else:
        names = ", ".join(f"`{name}`" for name in [*parameter.opts, *parameter.secondary_opts])
    default = parameter.default
    if isinstance(getattr(parameter, "show_default", None), str):
        default = parameter.show_default
    shown = "" if default is None or callable(default) or default is False else f"`{default}`"
    shown = "the number of cores" if parameter.name == "workers" else shown
    shown = "needed" if parameter.required else shown
    return f"| {names} | {_cell(getattr(parameter, 'help', None) or '')} | {_cell(shown)} |"


def _values(hint: Any) -> str:
    """A type as people read it: ``int``, ``batch | layer | None``."""
    if get_origin(hint) is Annotated:
        return _values(get_args(hint)[0])
    if get_origin(hint) is Literal:
        return " | ".join(str(value) for value in get_args(hint))
    if get_origin(hint) in (Union, UnionType):
        return " | ".join(_values(part) for part in get_args(hint))
    if get_origin(hint) is tuple:
        parts = get_args(hint)
        if parts[-1] is Ellipsis:
            return f"several {_values(parts[0])}"
        return f"{len(parts)} {_values(parts[0])}s"
    if get_origin(hint) is dict:
        return "names with values"
    return "None" if hint is type(None) else getattr(hint, "__name__", str(hint))


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


PAGES = {"command_line.md": command_line, "run_choices.md": run_choices}
