"""``pgso sweep``: hyper-parameters chosen on validation, the same budget for every operator."""

import json
from hashlib import sha256
from statistics import fmean
from typing import Annotated, Any

import typer
from rich.table import Table

from pgso.cli import choices
from pgso.cli.main import app, examples
from pgso.cli.progress import progress
from pgso.cli.terminal import Console
from pgso.errors import InputError
from pgso.records import RunRecord, RunSpec, Store
from pgso.records.sweep import SweepChoice, SweepRecord

NOT_SET = {"seed": "--seeds says how many", "operator": "--operator says which"}


@app.command(
    epilog=examples(
        "pgso sweep Cora --operator fixed --operator pgso",
        "pgso sweep digits --space 'num_layers=[1,2,3]' --seeds 2 --json",
    )
)
def sweep(
    context: typer.Context,
    dataset: choices.DatasetName,
    conv: choices.Conv = "gcn",
    operator: Annotated[
        list[str] | None, typer.Option(help="fixed | pgso | mpgso; may be repeated.")
    ] = None,
    seeds: Annotated[int, typer.Option(help="Runs per combination.", min=1)] = 3,
    search: Annotated[str, typer.Option(help="grid | tpe")] = "grid",
    trials: Annotated[int, typer.Option(help="Of the TPE search, per operator.", min=1)] = 20,
    space: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=[...]", help="Replace the paper's grid, e.g. epochs=[50,100]."),
    ] = None,
    settings: choices.Settings = None,
    options: choices.DataOptions = None,
    workers: choices.Workers = choices.CORES,
    engine: choices.Engine = "local",
    address: choices.Address = None,
    out: choices.Out = choices.RUNS,
    data: choices.Data = None,
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
    choices.refuse_settings(space, NOT_SET, "--space")
    choices.check_destination("--out", out, folder=True)
    store, console = Store(out), Console(stderr=as_json, markup=False)
    base = choices.make_spec(dataset, settings, options, conv=conv)
    choices.start_early(engine, workers)
    operators = operator or ["fixed", "pgso", "mpgso"]
    for choice in (
        *({"operator": name} for name in operators),
        *({name: value} for name, values in chosen_space.items() for value in values),
    ):
        choices.check_names(base.but(**choice))  # refused now rather than when its turn comes

    from pgso.data.load import task_of
    from pgso.training.device import device_of
    from pgso.training.engines import run_all
    from pgso.training.search import GRAPH_SPACE, NODE_SPACE, grid, grid_search, tpe_search

    device_of(device)  # refused before the first run
    choices.check(base, data)
    if not chosen_space:
        kind = task_of(base, data).kind
        known = GRAPH_SPACE if kind == "graph" else NODE_SPACE
        settled = choices.pairs(settings)
        chosen_space = {name: values for name, values in known.items() if name not in settled}
    count = len(list(grid(chosen_space))) if search == "grid" else trials
    failed: list[RunRecord] = []
    found: list[dict[str, Any]] = []
    metrics: list[str] = []
    table = Table("operator", "choice", "val", "test", title=f"{dataset}, {conv}: best of {count}")
    with progress(console, dataset, count * seeds * len(operators)) as advance:

        def tell(record: RunRecord) -> None:
            advance(f"{record.spec.operator}, seed {record.spec.seed}")
            if record.status == "failed":
                failed.append(record)

        def run(specs: list[RunSpec]) -> list[RunRecord]:
            if there := len({spec.key for spec in specs}) - len(store.missing(specs)):
                advance(f"{there} runs are there already", there)
            return run_all(specs, store, data, engine, workers, address, tell, choices.own(device))

        for name in operators:
            start = base.but(operator=name)
            if search == "grid":
                best = grid_search(start, chosen_space, range(seeds), run)[0]  # type: ignore[arg-type]
            else:
                best = tpe_search(start, chosen_space, range(seeds), run, trials)[0]  # type: ignore[arg-type]
            tests = [record.test for record in best.records if record.test is not None]
            shown = ", ".join(f"{key}={value}" for key, value in best.choice.items())
            mean = fmean(tests) if tests else None
            val = best.val
            found.append({"operator": name, "choice": best.choice, "val": val, "test": mean})
            objective = best.records[0].objective if best.records else None
            metrics += [run.metric for run in best.records[:1]]
            numbers = (objective.written(each, 1) if objective else "–" for each in (val, mean))
            table.add_row(name, shown, *numbers)
    if metrics:
        swept = SweepRecord(
            dataset=base.dataset,
            conv=base.conv,
            metric=metrics[0],
            command=context.obj,
            search=search,
            tried=count,
            seeds=seeds,
            space=chosen_space,
            best=tuple(SweepChoice(**entry) for entry in found),
        )
        mark = sha256(swept.model_dump_json(exclude={"best", "command"}).encode()).hexdigest()[:6]
        file = swept.write(out / f"sweep-{choices.folder_of(base)}-{mark}")
        console.print(f"record: {file}", soft_wrap=True)
    if as_json:
        typer.echo(json.dumps(found))
    else:
        console.print(table)
    for record in failed:
        console.print(f"failed: {record.spec.key}: {(record.error or '').splitlines()[-1]}")
    if failed:
        raise typer.Exit(1)
