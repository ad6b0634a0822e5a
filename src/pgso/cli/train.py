"""``pgso train``: one run, one record."""

import json
import os
from pathlib import Path
from typing import Annotated, Any

import typer

from pgso.cli import choices, folders
from pgso.cli.context import about_model, check_model, data_of, show_doubts
from pgso.cli.main import command
from pgso.cli.terminal import Console, progress, show_columns
from pgso.launch import launch
from pgso.records import RunSpec, Store
from pgso.records.files import free_name


@command(
    "train",
    "pgso train Cora --operator mpgso --save best.safetensors",
    "pgso train karate --epochs 20 --json",
    "pgso train diabetes --conv gin --objective r2",
    "pgso train Chameleon --terms self,quarter@in,quarter@out",
    "pgso train Cora --basis chebyshev --degree 10",
    "torchrun --nproc-per-node 4 -m pgso train ogbn-arxiv --sample 15,10",
)
@choices.with_spec()
def train(
    context: typer.Context,
    spec: RunSpec,
    save: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Write the model to this folder.", rich_help_panel=choices.OUTPUT
        ),
    ] = None,
    tensorboard: Annotated[
        Path | None,
        typer.Option(help="Log scalars to this folder.", rich_help_panel=choices.OUTPUT),
    ] = None,
    out: choices.Out = choices.RUNS,
    data: choices.Data = None,
    offline: choices.Offline = False,
    device: choices.Device = "auto",
    as_json: choices.AsJson = False,
) -> None:
    """Train one model. A run that was stopped goes on from its last checkpoint."""
    here = launch()
    first = here.rank == 0  # of the processes that torchrun has started
    if here.num_ranks > 1:  # else torch prints C++ frames beside our sentence about a lost process
        os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "FATAL")
    store, console = Store(out), Console(stderr=as_json, quiet=not first, markup=False)
    record = store.get(spec)
    old: Path | None = None  # where weights of that name go
    wants_more = save is not None or tensorboard is not None  # than the record holds
    if record is None or record.status == "failed" or wants_more:
        if first:
            folders.check_destination("--out", out, folder=True)
            check_model(save)
        from pgso.scale.place import joined
        from pgso.training.fit import advice_on, fit

        watchers: list[Any] = []
        if tensorboard is not None and first:
            from pgso.training.tensorboard import TensorBoard

            watchers.append(TensorBoard(tensorboard))
        passes = spec.epochs * spec.num_trainings
        with joined(device) as place, progress(console, spec.dataset, passes, "epochs") as advance:
            under_way, seen = None, 0  # a training, which may begin at a checkpoint

            def watch(session: Any) -> None:
                nonlocal under_way, seen
                if session is not under_way:
                    if under_way is None:
                        show_columns(console, session.task)
                    if under_way is None and (advice := advice_on(session.task)):
                        console.print(f"Note: {advice}.", soft_wrap=True)
                    under_way, seen = session, 0
                loss, val = session.curves["loss"][-1], session.curves["val"][-1]
                score = session.task.objective.written(val)
                advance(f"loss {loss:.3f}, val {score}", session.epoch - seen)
                seen = session.epoch
                for watcher in watchers:
                    watcher(session)

            old = None if save is None else free_name(save)
            checkpoint = out / "checkpoints" / f"{spec.key}.safetensors"
            record = fit(spec, data, watch=watch, save=save, checkpoint=checkpoint, device=place)
        if first:
            store.put(record)
    if not first:
        return
    from pgso.report.page import write_run

    data_records = [] if record.status == "failed" else data_of([record], store, data)
    page = write_run(record, store, data_records, context.obj)
    if as_json:
        from pgso.report.doubts import doubts

        summary = record.model_dump(mode="json") | {"report": str(page)}
        summary["baselines"] = [
            entry.model_dump() for part in data_records for entry in part.baselines
        ]
        typer.echo(json.dumps(summary | {"doubts": doubts([record], data_records)}))
        raise typer.Exit(int(record.status != "done"))
    if record.status != "done":
        console.print(f"{record.status}: {record.error}", style="bold")
    shown = {"validation": record.val, "test": record.test}
    of = "" if record.positive is None else f" of {record.positive}"
    for name, value in shown.items():
        if value is not None:
            console.print(f"{name} {record.metric}{of}: {record.objective.written(value, 1)}")
    from pgso.report.tables import operator_table

    if record.rung is not None:
        said = ", ".join(f"{name} {value}" for name, value in record.network.items() if value)
        console.print(f"operator: what pgso find keeps, {record.rung} ({said})", soft_wrap=True)
    if record.chosen != "fixed":
        console.print(operator_table([record]))
    show_doubts(console, [record], data_records)
    console.print(f"record: {store.path(spec)}", soft_wrap=True)
    console.print(f"report: {page}", soft_wrap=True)
    if save is not None:
        nothing = "none, because no epoch was completed"
        made = nothing if record.epoch is None else about_model(save)
        console.print(f"model: {made}", soft_wrap=True)
        if old is not None and old.exists():
            console.print(f"what was in {save} before: {old}", soft_wrap=True)
    raise typer.Exit(int(record.status != "done"))
