"""``pgso train``: one run, one record."""

import json
import os
from pathlib import Path
from typing import Any

import typer

from pgso.cli import choices
from pgso.cli.choices import opt
from pgso.cli.main import as_typed, command
from pgso.cli.terminal import Console, progress, show_data
from pgso.launch import launch
from pgso.records import RunRecord, RunSpec, Store
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
@choices.with_spec({"head": "the closed form is pgso find DATASET --save DIR"})
def train(
    context: typer.Context,
    spec: RunSpec,
    save: Path | None = choices.SAVE,
    tensorboard: Path | None = opt("output", "Log scalars to this folder."),
    out: Path = choices.OUT,
    data: Path | None = choices.DATA,
    offline: bool = choices.OFFLINE,
    device: str = choices.DEVICE,
    as_json: bool = choices.AS_JSON,
) -> None:
    """Train one model. A run that was stopped goes on from its last checkpoint."""
    here = launch()
    first = here.rank == 0  # of the processes that torchrun has started
    if here.num_ranks > 1:  # else torch prints C++ frames beside our sentence about a lost process
        os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "FATAL")
    store, console = Store(out), Console(stderr=as_json, quiet=not first)
    record = store.get(spec)
    old: Path | None = None  # where a model of that name goes
    wants_more = save is not None or tensorboard is not None  # than the record holds
    if save is None:
        save = choices.own_model(spec, out)
        has_weights = record is not None and record.epoch is not None
        wants_more |= save is not None and has_weights and not save.exists()
    if record is None or record.status == "failed" or wants_more:
        old = None if save is None else free_name(save)
        from pgso.scale.place import joined
        from pgso.training.fit import fit

        log: Any = None
        if tensorboard is not None and first:
            from pgso.training.tensorboard import TensorBoard

            log = TensorBoard(tensorboard)
        passes = spec.epochs * spec.num_trainings
        with joined(device) as place, progress(console, spec.dataset, passes, "epochs") as advance:
            under_way, seen = None, 0  # a training, which may begin at a checkpoint

            def watch(session: Any) -> None:
                nonlocal under_way, seen
                if under_way is None:
                    show_data(console, session.task)
                if session is not under_way:
                    under_way, seen = session, 0
                loss, val = session.curves["loss"][-1], session.curves["val"][-1]
                score = session.task.objective.written(val)
                advance(f"loss {loss:.3f}, val {score}", session.epoch - seen)
                seen = session.epoch
                if log is not None:
                    log(session)

            checkpoint = out / "checkpoints" / f"{spec.key}.safetensors"
            where: dict[str, Any] = {"save": save, "checkpoint": checkpoint, "device": place}
            record = fit(spec, data, watch=watch, finding=store.finding(spec), **where)
        if first:
            store.put(record)
    if not first:
        return
    from pgso.report.doubts import doubts
    from pgso.report.page import write_run

    known = [] if record.status == "failed" else choices.data_of([record], store, data)
    page, against = write_run(record, store, known, context.obj), doubts([record], known)
    if as_json:
        baselines = [entry.model_dump() for part in known for entry in part.baselines]
        more: Any = {"report": str(page), "baselines": baselines, "doubts": against}
        more["model"] = None if save is None or record.epoch is None else str(save)
        typer.echo(json.dumps(record.model_dump(mode="json") | more))
        raise typer.Exit(int(record.status != "done"))
    show(console, record)
    from pgso.report.about import baselines_grid

    console.print(baselines_grid(known, record.objective))
    for doubt in against:
        console.say(f"Note: {doubt}.", "bold")
    console.say(f"record: {store.path(spec)}")
    console.say(f"report: {page}")
    if save is not None and record.epoch is None:
        console.say("model: none, because no epoch was completed")
    elif save is not None:
        use = as_typed(["pgso", "predict", str(save), "FOLDER"])
        console.say(f"{choices.about_model(save)}: {use}")
    if old is not None and old.exists():
        console.say(f"what was in {save} before: {old}")
    raise typer.Exit(int(record.status != "done"))


def show(console: Console, record: RunRecord) -> None:
    """Print the scores and the operators of a run."""
    from pgso.report.tables import operator_grids

    if record.status != "done":
        console.print(f"{record.status}: {record.error}", style="bold")
    of = "" if record.positive is None else f" of {record.positive}"
    for name, value in {"validation": record.val, "test": record.test}.items():
        if value is not None:
            console.print(f"{name} {record.metric}{of}: {record.objective.written(value, 1)}")
    if record.rung is not None:
        said = ", ".join(f"{name} {value}" for name, value in record.network.items() if value)
        console.say(f"operator: what pgso find keeps, {record.rung} ({said})")
    if record.chosen != "fixed":
        console.print(*operator_grids([record]))
