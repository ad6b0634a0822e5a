"""Weights in files: safetensors with a JSON header, nothing that could run code."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from pgso.data.tables.columns import Preparation
from pgso.errors import InputError
from pgso.models.build import Model, build_model
from pgso.records import RunSpec
from pgso.records.files import write_atomically, write_beside
from pgso.records.numerics import NUMERICS, UNSAID
from pgso.training.session import Session, assign, evaluate, take_best, tensors_of

if TYPE_CHECKING:
    from pgso.data import Task


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
        """The checkpoint of one of a run's trainings, such as auto's candidates."""
        part = Checkpoint(self.path.with_name(f"{self.path.name}.{name}"), self.every, self.data)
        self.parts.append(part)
        return part

    def is_due(self, session: Session) -> bool:
        """At its end too: what comes after it, such as another training, may be interrupted."""
        return session.epoch % self.every == 0 or session.epoch == session.spec.epochs

    def save(self, session: Session) -> None:
        """Save a run: weights, best weights, optimiser, random state, curves, in one file."""
        tensors, plain = session.state()
        header = {**plain, "data": self.data, "numerics": NUMERICS}
        write_atomically(self.path, _packed(tensors, header))

    def load(self, session: Session) -> bool:
        """Resume a run where it was saved; False if there is nothing to resume."""
        if not self.path.exists():
            return False
        tensors, header = _read(self.path)
        with _naming(self.path):
            spec = RunSpec(complete=True, **header["spec"])
        if spec.dataset == session.spec.dataset and header.get("data") != self.data:
            return False  # the user's files have changed since
        is_model = "classes" in header  # refused below, not ignored and written over
        if not is_model and header.get("numerics", UNSAID) != NUMERICS:
            return False  # one half of the run would be of other numerics
        if spec != session.spec:
            raise InputError(
                f"{self.path} belongs to another run; choose another file, or remove it"
            )
        with _naming(self.path):
            session.resume(tensors, header)
        return True

    def remove(self) -> None:
        """Delete the files of this run and of its trainings."""
        for checkpoint in (self, *self.parts):
            checkpoint.path.unlink(missing_ok=True)


def save_model(path: Path, session: Session) -> None:
    """Write the best weights with all it takes to build the model again."""
    task, scale = session.task, session.criterion.scale
    header = {
        "spec": session.spec.model_dump(mode="json"),
        "num_features": task.num_features,
        "num_nodes": task.num_nodes,
        "classes": task.classes,
        "categories": task.categories,
        "kind": task.kind,
        "columns": task.columns,
        "preparation": None
        if task.preparation is None
        else task.preparation.model_dump(mode="json"),
        "targets": task.targets,
        "objective": task.metric,
        "positive": task.positive,
        "scale": None if scale is None else scale.as_dict(),
        "residuals": residual_quantiles(session),
        "calibration": _calibration(session),
    }
    write_beside(path, _packed(session.best_weights, header))


def _calibration(session: Session) -> dict[str, float] | None:
    """The temperature of a classifier, and its calibration error before and after."""
    evaluation = evaluate(session)
    if evaluation is None or evaluation.calibration is None:
        return None
    return evaluation.calibration.model_dump(include={"temperature", "error_before", "error_after"})


def load_model(path: str | Path) -> tuple[Model, RunSpec, dict[str, Any]]:
    """The model in a file, its spec, and the header that says what data it fits."""
    tensors, header = _read(Path(path))
    if "classes" not in header:
        raise InputError(f"{path} is the checkpoint of a run, not a model; write one with --save")
    with _naming(Path(path)):
        spec, shape = RunSpec(complete=True, **header["spec"]), _Shape(header)
        with torch.device("meta"):  # takes no memory, even if the header claims huge widths
            claimed = tensors_of(build_model(spec, shape))
        if _shapes(claimed) != _shapes(tensors):
            raise ValueError("its tensors do not fit the model that its header describes")
        model = build_model(spec, shape)
        assign(model, tensors)
    return model, spec, header


def _shapes(tensors: dict[str, Tensor]) -> dict[str, torch.Size]:
    return {name: value.shape for name, value in tensors.items()}


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Say which file is broken, in one sentence."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, RuntimeError) as error:
        reason = f"{type(error).__name__}: {error}"[:200]
        raise InputError(
            f"{path} is not a file that pgso has saved ({reason}); remove it, or write it again"
        ) from None


def preparation_of(header: dict[str, Any], path: Path) -> Preparation:
    """How a saved model wants the columns of a table; as they are, if it knows of none."""
    with _naming(path):
        return Preparation.model_validate(header.get("preparation") or {})


def fitted(header: dict[str, Any], task: "Task") -> "Task":
    """The task with its columns in the order that the model knows; refused if it does not fit."""
    for what, wanted, given in (
        ("kind of task", header["kind"], task.kind),
        ("number of features", header["num_features"], task.num_features),
    ):
        if wanted != given:
            raise InputError(f"the model's {what} is {wanted}, but {task.name} has {given}")
    shape = header["spec"].get("shape", "scalar")
    if shape == "node" and header["num_nodes"] != task.num_nodes:
        raise InputError(
            f"the model has an S for each of {header['num_nodes']} nodes, but {task.name} has "
            f"{task.num_nodes}: only shape=structural carries over to other graphs"
        )
    model_columns = header.get("columns")
    if model_columns is None or task.columns is None or tuple(model_columns) == task.columns:
        return task
    position = {name: column for column, name in enumerate(task.columns)}
    strange = [name for name in model_columns if name not in position]
    if strange:
        raise InputError(
            f"the model knows a feature called {strange[0]!r}, which {task.name} does not have; "
            "a model without features.csv knows the nodes it was trained on, and no others"
        )
    x = task.x if task.x.layout == torch.strided else task.x.to_dense()
    ordered = x.index_select(1, torch.tensor([position[name] for name in model_columns]))
    return replace(task, x=ordered if x is task.x else ordered.to_sparse_csr())


class _Shape:
    """What of a task its model depends on, checked."""

    def __init__(self, header: dict[str, Any]) -> None:
        self.num_features = _count(header["num_features"])
        self.num_nodes = _count(header.get("num_nodes", 0))
        self.num_outputs = len(header.get("targets") or header["classes"])
        categories = header["categories"]
        self.categories = None if categories is None else tuple(map(_count, categories))
        self.kind = header["kind"]
        if self.kind not in ("node", "graph", "link"):
            raise ValueError(f"{self.kind!r:.40} is no kind of task")
        if not all(isinstance(name, str) for name in header["classes"]):
            raise ValueError("classes that are no words")


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 2**40:
        raise ValueError(f"{value!r:.40} is no count")
    return value


def _packed(tensors: dict[str, Tensor], header: dict[str, Any]) -> bytes:
    whole = {name: value.detach().contiguous() for name, value in tensors.items()}
    return save(whole, metadata={"pgso": json.dumps(header)})


def _read(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    try:
        with safe_open(path, framework="pt") as file:
            header = json.loads((file.metadata() or {})["pgso"])
            if not isinstance(header, dict):
                raise ValueError("its header is no dictionary")
            return {name: file.get_tensor(name) for name in file.keys()}, header  # noqa: SIM118
    except FileNotFoundError:
        raise InputError(f"there is no saved model at {path}; write one with --save") from None
    except (SafetensorError, KeyError, ValueError, OSError, RecursionError) as error:
        reason = f"{error}"[:200]
        raise InputError(
            f"{path} is not a file that pgso has saved ({reason}); remove it, or write it again"
        ) from None


LEVEL = 0.9  # the share of validation targets that lie within the interval


def residual_quantiles(session: Session) -> list[float] | None:
    r"""Of every target, the half-width of an interval around predictions; None for classes.

    It is the :math:`\lceil (n + 1) \cdot 0.9 \rceil`-th smallest of the n absolute errors on
    validation (split conformal prediction, Lei et al. 2018). Validation has chosen the epoch too,
    so that on new data a little less than 90 % may lie within.
    """
    if session.task.objective.answer != "value" or not session.best_weights:
        return None
    take_best(session)
    out, _ = session.evaluate()
    val, y = (session.scoring.by_part(values)["val"] for values in (out, session.scoring.y))
    if session.spec.log_targets:
        val, y = val.log(), y.log()
    errors = (val - y).abs().numpy(force=True)
    return [_quantile(column[np.isfinite(column)]) for column in errors.T]


def _quantile(errors: "np.ndarray[tuple[int], np.dtype[np.float32]]") -> float:
    if not len(errors):
        return float("nan")
    rank = min(int(np.ceil((len(errors) + 1) * LEVEL)), len(errors))
    return float(np.sort(errors)[rank - 1])
