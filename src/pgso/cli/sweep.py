"""``pgso sweep``: hyper-parameters chosen on validation, the same budget for every operator."""

import json
from collections.abc import Sequence
from hashlib import sha256
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.table import Table

from pgso.cli import choices, folders
from pgso.cli.main import as_typed, command
from pgso.cli.terminal import Console, progress
from pgso.errors import InputError
from pgso.records import RunRecord, RunSpec, Store
from pgso.records.comparison import SweepChoice, SweepRecord

if TYPE_CHECKING:
    from pgso.training.search import Trial

NOT_SET = {"seed": "--seeds says how many", "operator": "--operator says which"}
NOT_SEARCHED = {
    **NOT_SET,
    "dataset": "the argument says which",
    "data_options": "--option says which",
    "objective": "scores of several cannot be compared",
    "task": "scores of several cannot be compared",
}
SEARCH = "Search"


@command(
    "sweep",
    "pgso sweep Cora --operator fixed --operator pgso",
    "pgso sweep digits --space 'num_layers=[1,2,3]' --seeds 2 --json",
)
@choices.with_spec(NOT_SET)
def sweep(
    context: typer.Context,
    spec: RunSpec,
    operator: Annotated[
        list[str] | None,
        typer.Option(
            help=f"{' | '.join(choices.words_of('operator'))}; may be repeated.",
            show_default="fixed, pgso, mpgso",
            rich_help_panel=SEARCH,
            autocompletion=choices.completing(choices.words_of("operator")),
        ),
    ] = None,
    seeds: Annotated[
        int,
        typer.Option(help="Runs per combination.", min=1, max=10_000, rich_help_panel=SEARCH),
    ] = 3,
    search: Annotated[
        Literal["grid", "tpe"],
        typer.Option(help="Every combination, or Optuna's TPE.", rich_help_panel=SEARCH),
    ] = "grid",
    trials: Annotated[
        int,
        typer.Option(help="Trials of the TPE search, per operator.", min=1, rich_help_panel=SEARCH),
    ] = 20,
    space: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=[...]",
            help="Search over this, e.g. epochs=[50,100]; may be repeated.",
            show_default="the paper's grid",
            rich_help_panel=SEARCH,
        ),
    ] = None,
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
    choices.refuse_settings(space, NOT_SEARCHED, "--space")
    chosen_space = choices.pairs(space)
    for name, values in chosen_space.items():
        if not isinstance(values, list) or not values:
            raise InputError(f"--space {name} takes a list, such as {name}=[1,2], got {values!r}")
        if name in spec.model_fields_set:
            raise InputError(f"an option cannot change {name} here: it is searched over")
    folders.check_destination("--out", out, folder=True)
    store, console = Store(out), Console(stderr=as_json, markup=False)
    operators = operator or ["fixed", "pgso", "mpgso"]
    for choice in (
        *({"operator": name} for name in operators),
        *({name: value} for name, values in chosen_space.items() for value in values),
    ):
        choices.check_names(spec.but(**choice))  # refused now rather than when its turn comes

    from pgso.scale.place import device_of
    from pgso.training.engines import run_all, useful_workers
    from pgso.training.search import GRAPH_SPACE, NODE_SPACE, grid, grid_search, tpe_search

    device_of(device)  # refused before the first run
    task = choices.checked_task(spec, data, console)
    if not chosen_space:
        default_space = GRAPH_SPACE if task.kind == "graph" else NODE_SPACE
        chosen_space = {
            name: values
            for name, values in default_space.items()
            if name not in spec.model_fields_set
        }
    count = len(list(grid(chosen_space))) if search == "grid" else trials
    failed: list[RunRecord] = []
    best: dict[str, Trial] = {}
    with progress(console, spec.dataset, count * seeds * len(operators)) as advance:

        def tell(record: RunRecord) -> None:
            advance(f"{record.spec.operator}, seed {record.spec.seed}")
            if record.status == "failed":
                failed.append(record)

        def run(specs: Sequence[RunSpec]) -> list[RunRecord]:
            if there := len({spec.key for spec in specs}) - len(store.missing(specs)):
                advance(f"{there} runs are there already", there)
            used = useful_workers(specs, workers, task.num_edges)
            return run_all(
                specs, store, data, engine, used, address, tell, choices.device_of_runs(device)
            )

        for name in operators:
            start = spec.but(operator=name)
            if search == "grid":
                best[name] = grid_search(start, chosen_space, range(seeds), run)[0]
            else:
                best[name] = tpe_search(start, chosen_space, range(seeds), run, trials)[0]
    winner = max(best, key=lambda name: best[name].merit)
    said = {
        name: getattr(spec, name)
        for name in RunSpec.model_fields
        if name in spec.model_fields_set and name != "dataset"
    }
    following = ["pgso", "compare", spec.dataset]
    following += choices.as_options({**said, **best[winner].choice})
    following += [] if out == choices.RUNS else ["--out", str(out)]
    following += [] if data is None else ["--data", str(data)]
    entries = [
        {"operator": name, "choice": trial.choice, "val": trial.val, "test": _test(trial)}
        for name, trial in best.items()
    ]
    if best[winner].records:
        swept = SweepRecord(
            dataset=spec.dataset,
            conv=spec.conv,
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
        file = swept.write(out / f"sweep-{folders.folder_of(spec)}-{mark}")
        console.print(f"record: {file}", soft_wrap=True)
    if as_json:
        typer.echo(json.dumps(entries))
    else:
        console.print(_table(best, f"{spec.dataset}, {spec.conv}: best of {count} on validation"))
        console.print(f"next, with the choice of {winner}: {as_typed(following)}", soft_wrap=True)
    for failure in failed:
        console.print(f"failed: {failure.spec.key}: {(failure.error or '').splitlines()[-1]}")
    if failed:
        raise typer.Exit(1)


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
