"""``fit``: from a spec to a record, epoch by epoch."""

import math
import platform
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy
import torch
import torch_geometric

import pgso
from pgso.bases import BASES
from pgso.convs import CONVS
from pgso.convs.bank import SELF, Term
from pgso.data import DATASETS, Task
from pgso.data.batch import in_fast_order
from pgso.data.dataset import suited
from pgso.data.load import state_of, task_of
from pgso.data.task import IN_MEMORY
from pgso.errors import InputError, UnknownNameError
from pgso.finding import find
from pgso.gso.shift import nearest_preset
from pgso.records import RunRecord, RunSpec
from pgso.records.finding import FindingRecord
from pgso.records.numerics import LADDER
from pgso.records.record import Judged
from pgso.scale.place import Where, place_of
from pgso.training.choice import Trained, choose
from pgso.training.engines import one_thread, threads_for
from pgso.training.session import (
    Checkpoint,
    Divergence,
    MakeNetwork,
    Session,
    certified_ends,
    evaluate,
    save_model,
)

try:
    import resource
except ImportError:  # Windows does not say how much memory a process has held
    resource = None  # type: ignore[assignment]

Watcher = Callable[[Session], None]
LARGEST_START = 1e38  # of a scalar of S, in 32 bits

ONE_AT_A_TIME = threading.RLock()  # a watcher may call fit again


def fit(
    spec: RunSpec,
    root: str | Path | None = None,
    *,
    task: Task | None = None,
    positive: object = None,
    watch: Watcher | None = None,
    save: str | Path | None = None,
    checkpoint: str | Path | None = None,
    checkpoint_every: int = 50,
    device: Where = None,
    finding: FindingRecord | None = None,
) -> RunRecord:
    """Run one spec to its end. On one machine a spec always gives the same record, times apart.

    Args:
        spec: What to run. ``operator="found"`` trains the network of the rung that
            :func:`pgso.find` keeps on the training labels. ``operator="auto"`` runs fixed, the
            networks of the best rungs, pgso and mpgso, and keeps the one that is best on
            validation. With ``evidence``, the fixed operator is run as well, and kept
            unless validation is that sure that another one is better (several share the risk).
            ``head="closed_form"`` trains nothing: it is :func:`pgso.find`.
        root: Where datasets are; by default ``$PGSO_DATA`` or, without it, ``~/.cache/pgso``.
        task: Data in memory, such as :meth:`Task.from_data` makes, in place of the spec's dataset.
        positive: Of two classes, the one that scores are about; by default the rarer one.
        watch: Called after every epoch, for progress or logging.
        save: Where to write the model: a folder, or one file that ends in ``.safetensors``.
        checkpoint: A checkpoint file. The run resumes from it if it is there, and writes it every
            ``checkpoint_every`` epochs. It is removed when the run has ended and is saved.
        checkpoint_every: Epochs between checkpoints, 1 or more.
        device: ``"cpu"``, ``"cuda"``, ``"cuda:1"`` or ``"auto"`` (a GPU if there is one; the
            default). In one of several processes, what :func:`pgso.scale.place.joined` gives.
        finding: What :func:`pgso.find` has found on the same folder with the same options, which
            ``operator="found"`` then does not look for again.

    Returns:
        The record; a run whose loss stopped being a number says so in ``status`` and ``error``,
        with the scores of the best epoch before.

    Example:
        >>> record = fit(RunSpec(dataset="karate", epochs=5))
        >>> record.status, len(record.curves["loss"])
        ('done', 5)
    """
    if not isinstance(spec, RunSpec):
        raise InputError(f"fit takes a RunSpec, got {spec!r:.80}; see pgso.RunSpec(dataset=...)")
    if positive is not None:
        spec = spec.but(data_options={**spec.data_options, "positive": positive})
    if task is not None:
        if not isinstance(task, Task):
            given = type(task).__name__
            raise InputError(f"task must be a pgso.Task, got {given}; see Task.from_data")
        if spec.dataset in DATASETS:
            raise InputError(
                f"{spec.dataset} is the name of a dataset, which the spec loads by itself; leave "
                f'out task, or say spec.but(dataset="{IN_MEMORY}")'
            )
        if spec.task not in (None, task.kind):
            raise InputError(f"the data are a {task.kind} task, not a {spec.task} task")
        if spec.head == "closed_form":
            raise InputError("the closed-form head of data in memory is pgso.find(task)")
        if checkpoint is not None:
            raise InputError("a checkpoint is of data in files; leave it out for data in memory")
        task = task.scored_by(None, spec.data_options.get("positive"))
    elif spec.dataset == IN_MEMORY:
        raise InputError(
            "this spec is of data in memory: give them as pgso.fit(spec, task=task), where task is "
            "found.task or pgso.Task.from_data(data)"
        )
    spec = suited(spec, task)
    place = place_of(device)
    # Files are fingerprinted before they are read.
    state = None if task is not None else state_of(spec.dataset)
    if spec.head == "closed_form":
        if save is not None:
            raise InputError("a closed-form head is saved by pgso.find(...).save(path)")
        return _find(spec, root).model_copy(update={"data": state})
    if task is None:
        with ONE_AT_A_TIME, one_thread():
            task = task_of(spec, root)
    file = None if checkpoint is None else Checkpoint(Path(checkpoint), checkpoint_every, state)
    session, record = fit_task(
        spec, task, watch=watch, checkpoint=file, device=place, finding=finding
    )
    if place.rank == 0:
        if save is not None and session.best_weights:
            save_model(Path(save), session, record, task)
        if file is not None:
            file.remove()
    return record.model_copy(update={"data": state})


def _find(spec: RunSpec, root: str | Path | None) -> RunRecord:
    """The record of ``pgso find`` on the dataset of a spec, whose other choices do not matter."""
    for name in ("task", "base"):
        if getattr(spec, name) is not None:
            raise InputError(
                f"a closed-form head takes the dataset as it is; leave {name} out of the run"
            )
    options: dict[str, Any] = dict(spec.data_options)
    finding = find(spec.dataset, root=root, seed=spec.seed, objective=spec.objective, **options)
    best = finding.best
    return RunRecord(
        spec=spec,
        **finding.record.model_dump(include={"metric", "positive"}),
        val=best.val,
        test=best.test,
        chosen=best.name,
        parameters=() if best.S is None else (best.S,),
        finding=finding.record,
        versions=versions(),
        timing={"seconds": finding.record.seconds},
    )


def fit_task(
    spec: RunSpec,
    task: Task,
    *,
    watch: Watcher | None = None,
    checkpoint: Checkpoint | None = None,
    device: Where = None,
    network: MakeNetwork | None = None,
    finding: FindingRecord | None = None,
) -> tuple[Session, RunRecord]:
    """:func:`fit` on data that is at hand; the session holds the model and its best weights.

    ``network`` makes a model of the user's in place of the spec's network. Torch's generator is
    left as it was found. There is one of it in a process, and one number of threads: fits in
    several Python threads wait for each other. For fits at the same time use processes.
    """
    place = place_of(device)
    task = task.scored_by(spec.objective)
    check_task(spec, task)
    with ONE_AT_A_TIME, one_thread():
        task = on_base(task, spec.base)
        if spec.reorder and spec.shape != "node":  # a value per node belongs to its number
            task = in_fast_order(task)

    def train(one: RunSpec, name: str) -> Trained:
        its_task = task if one.base == spec.base else on_base(task, one.base)
        session = Session(one, its_task, place, network)
        return Trained(session, _run(session, watch, checkpoint and checkpoint.of(name)))

    with (
        ONE_AT_A_TIME,
        threads_for(task, place.threads),
        torch.random.fork_rng(devices=[place.device] if place.device.type == "cuda" else []),
    ):
        if not spec.is_choice:
            return train(spec, "")
        started = time.perf_counter()
        (session, record), sure, candidate = choose(spec, task, train, finding)
    changes: dict[str, Any] = {
        "spec": spec,
        "chosen": session.spec.operator,
        "ladder": LADDER if spec.climbs else None,
        "confidence": sure,
        "timing": {**record.timing, "seconds": time.perf_counter() - started},
    }
    if candidate is not None:
        changes |= {"rung": candidate.rung, "network": candidate.changes}
        changes["closed_form"] = candidate.closed_form
    return session, record.model_copy(update=changes)


def _run(session: Session, watch: Watcher | None, checkpoint: Checkpoint | None) -> RunRecord:
    """Run a session to its end, save checkpoints on the way, and return its record."""
    started = time.perf_counter()
    task, place, status, error = session.task, session.place, "done", None
    gsos, start = session.gsos, session.operators()
    certified = gsos if session.is_certifiable else ()
    first = [certified_ends(task.graph, [gso.S.detach().cpu()]) for gso in certified]
    if checkpoint is not None:
        checkpoint.load(session)
        mean_epoch = torch.tensor(session.epoch, dtype=torch.float64, device=place.device)
        place.average([mean_epoch])
        if mean_epoch.item() != session.epoch:
            raise InputError(
                f"the processes see different checkpoints at {checkpoint.path}; "
                "choose a folder that all machines share with --out"
            )
    while session.epoch < session.spec.epochs:
        try:
            session.run_epoch()
        except Divergence as event:
            status, error = "diverged", str(event)
            break
        if watch is not None:
            watch(session)
        if checkpoint is not None and place.rank == 0:
            checkpoint.save(session)
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss if resource else math.nan  # KiB
    at, curves = session.best_epoch, session.curves
    learned = start if at is None else tuple(curves["parameters"][at])
    selection, judged = session.selection, None
    if selection.judged is not None:
        parts = (task.val, selection.judged, selection.answers)
        rows = (part[selection.judges].numpy(force=True) for part in parts)
        judged = Judged.of(task.objective, *rows)
    return RunRecord(
        spec=session.spec,
        status=status,  # type: ignore[arg-type]
        error=error,
        metric=task.metric,
        positive=task.objective.positive_name,
        val=None if at is None else curves["val"][at],
        test=None if at is None else curves["test"][at],
        epoch=at,
        start=start,
        start_interval=tuple(interval for (interval,) in first),
        evaluation=evaluate(session),
        parameters=learned,
        nearest=tuple(
            nearest_preset(gso.on(task.edges, masked=False).graph, S, gso.degrees)
            for gso, S in zip(gsos, learned, strict=True)
            if session.is_ours
        ),
        judged=judged,
        curves=curves,
        versions=versions() | {"device": str(session.device)},
        timing={"seconds": seconds, "peak_memory_mib": peak / 1024},
    )


def versions() -> dict[str, str]:
    """What a record was computed with."""
    return {
        "pgso": pgso.__version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "torch_geometric": torch_geometric.__version__,
        "numpy": numpy.__version__,
        "threads": str(torch.get_num_threads()),
    }


def on_base(task: Task, base: str | None) -> Task:
    """The task with its graph, or its graphs side by side, turned into this base."""
    if base is None:
        return task
    return replace(task, graph=BASES[base](task.graph), relations=None)


def check_task(spec: RunSpec, task: Task) -> None:
    """Refuse what cannot be trained on."""
    if isinstance(spec.preset, tuple) and not max(map(abs, spec.preset)) < LARGEST_START:
        raise InputError(f"S must start below {LARGEST_START:g} to fit into 32 bits: {spec.preset}")
    if task.train.numel() == 0 or task.val.numel() == 0:
        raise InputError(
            f"{task.name} needs labelled training and validation examples, and has "
            f"{task.train.numel()} and {task.val.numel()}; label more, or check splits.csv"
        )
    if spec.sample and CONVS[spec.conv].many_hops:
        raise InputError(
            f"a layer of conv {spec.conv} reaches many hops far: leave out sample, and train it on "
            "the whole graph"
        )
    if spec.sample and task.kind == "link":
        raise InputError("links are learned on the whole graph: leave out sample and torchrun")
    if spec.shape == "node" and task.kind == "graph":
        raise InputError("a value per node does not carry over to other graphs: shape=structural")
    if spec.max_radius is not None and not task.graph.is_undirected:
        raise InputError(
            f"max_radius rests on Theorem 2, which needs an undirected graph; {task.name} is not"
        )
    terms = (Term.of(term).edges for term in spec.terms or () if term != SELF)
    wanted = [edges for edges in terms if edges not in (None, "in", "out")]
    for name in wanted:
        if task.relations is None:
            raise InputError(
                f"a term acts on the relation {name!r}, but the edges of {task.name} have none; "
                "name it in a column 'relation' of edges.csv, or write @in or @out"
            )
        if name not in task.relations.graphs:
            raise UnknownNameError("relation", name, task.relations.graphs)
    if wanted and (spec.sample or spec.base or task.kind != "node"):
        raise InputError("terms on relations need a node task on its whole graph, without a base")
