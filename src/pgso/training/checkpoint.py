"""The state of a run in a file, to resume it; and its network as a saved model."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

from pgso.data import Task
from pgso.errors import InputError
from pgso.models.build import Model, build_model
from pgso.records import RunRecord, RunSpec
from pgso.records.files import write_atomically
from pgso.records.numerics import NUMERICS
from pgso.saved import count_of, header_of, naming, packed, unpacked, write_model
from pgso.training.session import Session, assign, evaluate, tensors_of


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint file. A checkpoint of different data, or of other numerics, is ignored."""

    path: Path
    every: int  # epochs
    data: str | None = None  # the state of the user's own files
    parts: "list[Checkpoint]" = field(default_factory=list)  # one for each of its trainings

    def __post_init__(self) -> None:
        if self.every < 1:
            raise InputError(f"checkpoint_every must be at least 1, got {self.every}")

    def of(self, name: str) -> "Checkpoint":
        """The checkpoint of one of a run's trainings, such as auto's candidates; '' is the run."""
        if not name:
            return self
        file = self.path.with_name(f"{self.path.name}.{re.sub('[^a-z0-9]+', '-', name)}")
        self.parts.append(Checkpoint(file, self.every, self.data))
        return self.parts[-1]

    def save(self, session: Session) -> None:
        """Save a run in one file, at its end too: what comes after it may be interrupted."""
        if session.epoch % self.every and session.epoch != session.spec.epochs:
            return
        state = {**session.state(), "data": self.data, "numerics": NUMERICS}
        write_atomically(self.path, packed(state))

    def load(self, session: Session) -> bool:
        """Resume a run where it was saved; False if there is nothing to resume."""
        if not self.path.exists():
            return False
        state = unpacked(self.path)
        with naming(self.path):
            spec = RunSpec(complete=True, **state["spec"])
        if spec.dataset == session.spec.dataset and state.get("data") != self.data:
            return False  # the user's files have changed since
        # A saved model says nothing about numerics: it is refused below, and not written over.
        if state.get("numerics", NUMERICS) != NUMERICS:
            return False  # one half of the run would be of other numerics
        if spec != session.spec:
            raise InputError(
                f"{self.path} belongs to another run; choose another file, or remove it"
            )
        with naming(self.path):
            session.resume(state)
        return True

    def remove(self) -> None:
        """Delete the files of this run and of its trainings."""
        for checkpoint in (self, *self.parts):
            checkpoint.path.unlink(missing_ok=True)


def save_model(path: Path, session: Session, record: RunRecord, task: Task) -> None:
    """Write the best weights of a run that has ended, with all it takes to build the model again.

    The task has the data in the order and on the graph of the user, to be remembered for new nodes.
    """
    evaluation, strange = evaluate(session)
    assert evaluation is not None
    scale, spec = session.criterion.scale, session.spec.model_dump(mode="json")
    header = header_of(session.task, spec, strange, evaluation.coverage, task)
    kept, calibration = {"temperature", "error_before", "error_after"}, evaluation.calibration
    header |= {
        "form": "network",
        "network": session.best_weights,
        "scale": scale and vars(scale),
        "calibration": calibration and calibration.model_dump(include=kept),
        "record": record.spec.key,
    }
    write_model(path, header)


def network_of(path: Path, header: dict[str, Any]) -> Model:
    """The network of what was read from a file, whose claims are checked first."""
    if "classes" not in header:
        raise InputError(f"{path} is the checkpoint of a run, not a model; write one with --save")
    with naming(path):
        categories, kind = header["categories"], header["kind"]
        if kind not in ("node", "graph", "link"):
            raise ValueError(f"{kind!r:.40} is no kind of task")
        if not all(isinstance(name, str) for name in header["classes"]):
            raise ValueError("classes that are no words")
        shape = SimpleNamespace(
            kind=kind,
            num_features=count_of(header["num_features"]),
            num_nodes=count_of(header.get("num_nodes", 0)),
            num_outputs=len(header.get("targets") or header["classes"]),
            categories=None if categories is None else tuple(map(count_of, categories)),
        )
        tensors, spec = header["network"], RunSpec(complete=True, **header["spec"])
        with torch.device("meta"):  # takes no memory, even if the header claims huge widths
            claimed = tensors_of(build_model(spec, shape))
        if {k: v.shape for k, v in claimed.items()} != {k: v.shape for k, v in tensors.items()}:
            raise ValueError("its tensors do not fit the model that its header describes")
        model = build_model(spec, shape)
        assign(model, tensors)
    return model
