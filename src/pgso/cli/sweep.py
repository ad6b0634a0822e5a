"""``pgso sweep``: hyper-parameters chosen on validation, the same budget for every operator."""

import json
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from pgso.cli import choices, completion, folders
from pgso.cli.main import as_typed, command
from pgso.cli.progress import progress
from pgso.cli.terminal import Console
from pgso.errors import InputError
from pgso.records import RunRecord, RunSpec, Store
from pgso.records.sweep import SweepChoice, SweepRecord

if TYPE_CHECKING:
    from pgso.training.search import Trial

NOT_SET = {"seed": "--seeds says how many", "operator": "--operator says which"}


@command(
    "sweep",
    "pgso sweep Cora --operator fixed --operator pgso",
    "pgso sweep digits --space 'num_layers=[1,2,3]' --seeds 2 --json",
)
def sweep(
    context: typer.Context,
    dataset: choices.DatasetName,
    conv: choices.Conv = None,
    operator: Annotated[
        list[str] | None,
        typer.Option(
            help=f"{' | '.join(completion.words_of('operator'))}; may be repeated.",
            show_default="fixed, pgso, mpgso",
            autocompletion=completion.completing(completion.words_of("operator")),
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(help="Runs per combination.", min=1, max=10_000)] = 3,
    search: Annotated[
        str,
        typer.Option(help="grid | tpe", autocompletion=completion.completing(("grid", "tpe"))),
    ] = "grid",
    trials: Annotated[
        int, typer.Option(help="Trials of the TPE search, per operator.", min=1)
    ] = 20,
    space: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=[...]",
            help="Search over this, e.g. epochs=[50,100]; may be repeated.",
            show_default="the paper's grid",
            autocompletion=completion.space_of,
        ),
    ] = None,
    settings: choices.Settings = None,
    options: choices.DataOptions = None,
    workers: choices.Workers = choices.CORES,
    engine: choices.Engine = "local",
    address: choices.Address = None,
    out: choices.Out = choices.RUNS,
    data: choices.Data = None,
    offline: choices.Offline = False,
    device: choices.Device = "auto",
    as_json: choices.AsJson = False,
) -> None:
    """Try hyper-parameters on the same seeds; choose on validation, show test beside it."""
    if search not in ("grid", "tpe"):
        raise InputError(f"no search is called {search!r}; choose grid or tpe")
    chosen_space = choices.pairs(space)
    for name, values in chosen_space.items():
        if not isinstance(values, list) or not values:
            raise InputError(f"--space {name} takes a list, such as {name}=[1,2], got {values!r}")
    searched = dict.fromkeys(chosen_space, "it is searched over")
    choices.refuse_settings(settings, {**NOT_SET, **searched})
    not_searched = {
        "dataset": "the argument says which",
        "data_options": "--option says which",
        "objective": "scores of several cannot be compared",
        "task": "scores of several cannot be compared",
    }
    choices.refuse_settings(space, {**NOT_SET, **not_searched}, "--space")
    folders.check_destination("--out", out, folder=True)
    store, console = Store(out), Console(stderr=as_json, markup=False)
    template = choices.make_spec(dataset, settings, options, conv=conv)
    choices.start_early(engine, workers)
    operators = operator or ["fixed", "pgso", "mpgso"]
    for choice in (
        *({"operator": name} for name in operators),
        *({name: value} for name, values in chosen_space.items() for value in values),
    ):
        choices.check_names(template.but(**choice))  # refused now rather than when its turn comes

    from pgso.data.load import task_of
    from pgso.scale.place import device_of
    from pgso.training.engines import run_all
    from pgso.training.search import GRAPH_SPACE, NODE_SPACE, grid, grid_search, tpe_search

    device_of(device)  # refused before the first run
    choices.check(template, data)
    if not chosen_space:
        kind = task_of(template, data).kind
        default_space = GRAPH_SPACE if kind == "graph" else NODE_SPACE
        settled = choices.pairs(settings)
        chosen_space = {
            name: values for name, values in default_space.items() if name not in settled
        }
    count = len(list(grid(chosen_space))) if search == "grid" else trials
    failed: list[RunRecord] = []
    best: dict[str, Trial] = {}
    with progress(console, dataset, count * seeds * len(operators)) as advance:

        def tell(record: RunRecord) -> None:
            advance(f"{record.spec.operator}, seed {record.spec.seed}")
            if record.status == "failed":
                failed.append(record)

        def run(specs: Sequence[RunSpec]) -> list[RunRecord]:
            if there := len({spec.key for spec in specs}) - len(store.missing(specs)):
                advance(f"{there} runs are there already", there)
            return run_all(
                specs, store, data, engine, workers, address, tell, choices.device_of_runs(device)
            )

        for name in operators:
            start = template.but(operator=name)
            if search == "grid":
                best[name] = grid_search(start, chosen_space, range(seeds), run)[0]
            else:
                best[name] = tpe_search(start, chosen_space, range(seeds), run, trials)[0]
    winner = max(best, key=lambda name: best[name].merit)
    following = ["pgso", "compare", dataset, *given_again(conv, settings, options, out, data)]
    following += [
        word for name, value in best[winner].choice.items() for word in typed(name, value)
    ]
    entries = [
        {"operator": name, "choice": trial.choice, "val": trial.val, "test": _test(trial)}
        for name, trial in best.items()
    ]
    if best[winner].records:
        swept = SweepRecord(
            dataset=template.dataset,
            conv=template.conv,
            metric=best[winner].records[0].metric,
            positive=best[winner].records[0].positive,
            command=context.obj,
            search=search,
            tried=count,
            seeds=seeds,
            space=chosen_space,
            best=tuple(SweepChoice.model_validate(entry) for entry in entries),
        )
        settings_of = swept.model_dump_json(exclude={"best", "command"}) + " ".join(sorted(best))
        mark = sha256(settings_of.encode()).hexdigest()[:6]
        file = swept.write(out / f"sweep-{folders.folder_of(template)}-{mark}")
        console.print(f"record: {file}", soft_wrap=True)
    if as_json:
        typer.echo(json.dumps(entries))
    else:
        console.print(_table(best, f"{dataset}, {template.conv}: best of {count} on validation"))
        console.print(f"next, with the choice of {winner}: {as_typed(following)}", soft_wrap=True)
    for failure in failed:
        console.print(f"failed: {failure.spec.key}: {(failure.error or '').splitlines()[-1]}")
    if failed:
        raise typer.Exit(1)


OPTION_OF = {"hidden_channels": "--hidden", "num_layers": "--layers", "epochs": "--epochs"}


def typed(name: str, value: Any) -> tuple[str, str]:
    """A choice as an option of another command.

    Example:
        >>> typed("num_layers", 3), typed("norm", "batch")
        (('--layers', '3'), ('--set', 'norm=batch'))
    """
    text = value if isinstance(value, str) else json.dumps(value)
    return (OPTION_OF[name], text) if name in OPTION_OF else ("--set", f"{name}={text}")


def given_again(
    conv: str | None,
    settings: list[str] | None,
    options: list[str] | None,
    out: Path,
    data: Path | None,
) -> Iterator[str]:
    """What was typed for this command and belongs to the next one, too."""
    given = [("--conv", conv), *(("--set", text) for text in settings or ())]
    given += [("--option", text) for text in options or ()]
    given += [("--out", None if out == choices.RUNS else str(out))]
    given += [("--data", None if data is None else str(data))]
    for option, value in given:
        if value is not None:
            yield from (option, value)


def _test(trial: "Trial") -> float | None:
    scores = [record.test for record in trial.records if record.test is not None]
    return fmean(scores) if scores else None


def _table(best: "dict[str, Trial]", title: str) -> Table:
    """A row per operator, a column per hyper-parameter."""
    names = list(dict.fromkeys(name for trial in best.values() for name in trial.choice))
    table = Table("operator", *names, "validation", "test", title=title, title_justify="left")
    table.box = None
    for name, trial in best.items():
        objective = trial.records[0].objective if trial.records else None
        scores = [trial.val, _test(trial)]
        shown = [objective.written(score, 1) if objective else "-" for score in scores]
        table.add_row(name, *(str(trial.choice.get(key, "")) for key in names), *shown)
    return table
