"""``load``: a saved model, and what it says about new nodes and new graphs."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from pgso.data import Task
from pgso.data.arrays import Array
from pgso.data.tables.answers import SEVERAL
from pgso.data.tables.columns import Preparation
from pgso.errors import InputError
from pgso.evaluation.conformal import LEVEL, class_sets, intervals
from pgso.objectives import OBJECTIVES
from pgso.objectives.values import Scale
from pgso.predictors.inputs import Asked, asked_of
from pgso.predictors.table import calibration_of, prediction_table
from pgso.records import RunSpec
from pgso.saved import Memory, naming, part_of, places, read_model

if TYPE_CHECKING:
    import pandas


def load(path: str | os.PathLike[str]) -> "Predictor":
    """The model that ``pgso find --save``, ``pgso train --save`` or ``found.save`` has written.

    Args:
        path: Its folder or file.

    Example:
        >>> import tempfile
        >>> import pgso
        >>> folder = Path(tempfile.mkdtemp()) / "model"
        >>> found = pgso.find("karate")
        >>> predictor = pgso.load(found.save(folder))
        >>> predictor
        Predictor(karate: closed form, 2 classes)
        >>> task = found.task
        >>> bool((predictor.predict(task.graph, task.x) == found.predict()).all())
        True
    """
    path = Path(path).expanduser()
    tensors, header = read_model(path)
    form = header.get("form", "network")
    with naming(path):
        kind = {"network": Network, "closed form": Found}[form]
    return kind(path, tensors, header)


class Predictor:
    """A saved model: a network, a closed form or trees.

    Attributes:
        header: What it was fitted to, and how its table is prepared, as plain data.
        spec: The run, or the run that would train a network with what was found.
        memory: The graph that it was fitted on; None if it was not kept.
    """

    form = ""

    def __init__(self, path: Path, tensors: dict[str, Tensor], header: dict[str, Any]) -> None:
        self.path, self.header = path, header
        with naming(path):
            self.spec = RunSpec(complete=True, **header["spec"])
            self.kind, self.num_features = str(header["kind"]), int(header["num_features"])
            self.classes = tuple(map(str, header["classes"]))
            self.targets = tuple(map(str, header.get("targets") or ()))
            self.answer = OBJECTIVES[header.get("objective", "accuracy")].answer
            self.preparation = Preparation.model_validate(header.get("preparation") or {})
            self.strangeness = _strangeness(tensors, header, len(self.targets))
            held = header.get("coverage") or {}
            self.coverage = {str(name): float(value) for name, value in held.items()}
            self.memory = None
            if header.get("memory") is not None:
                self.memory = Memory.from_state(part_of(tensors, "memory/"), header["memory"])
            self.labels = None
            if "labels/nodes" in tensors:
                nodes, targets = tensors["labels/nodes"], tensors["labels/targets"]
                if targets.dim() != 2 or len(places(nodes, header["num_nodes"])) != len(targets):
                    raise ValueError("labels that do not fit their nodes")
                self.labels = nodes, targets

    def predict(
        self, data: Any = None, x: Any = None, *, skip_bad_rows: bool = False, **options: Any
    ) -> "Tensor | pandas.DataFrame":
        """Probabilities of classes, or numbers, of every node or graph that is asked about.

        A table of rows that have names gives a frame, one row per name: the most probable class,
        its probability, those of all classes and a prediction set, or a number and its interval.
        Tensors give a tensor, (items, classes) or (items, numbers).

        Args:
            data: A folder, a dataset's name, a frame of nodes with a frame of edges, a
                :class:`Task`; a graph with ``x``, PyG's ``Data`` or a list of them. A folder or
                frame may hold only new rows, with edges to nodes that the model was fitted on.
                None: all nodes that the model remembers.
            x: The features of a graph's nodes; of a frame of nodes, the frame of edges or None.
            skip_bad_rows: Whether rows with a cell that cannot be read are left out.
            options: Of the folder or the frames, such as ``key="customer"``.
        """
        asked = self.asked(data, x, skip_bad_rows=skip_bad_rows, **options)
        out = self.outputs(asked)
        return self.frame(asked, out) if asked.is_named else out

    def sets(
        self,
        data: Any = None,
        x: Any = None,
        *,
        coverage: float = LEVEL,
        skip_bad_rows: bool = False,
        **options: Any,
    ) -> "pandas.Series[Any] | pandas.DataFrame":
        """Sets of classes, or intervals of numbers, that hold the truth with some probability.

        It is split conformal prediction: on labels of validation, which the model was not fitted
        to. The coverage holds on average over items like those.

        Args:
            data: As in :meth:`predict`.
            x: Likewise.
            coverage: The probability, above 0 and below 1.
            skip_bad_rows: As in :meth:`predict`.
            options: Likewise.

        Returns:
            Classes: a series of tuples of their names, the most probable first. Numbers: a frame
            with the columns ``NAME low`` and ``NAME high``.
        """
        import pandas

        asked = self.asked(data, x, skip_bad_rows=skip_bad_rows, **options)
        out = self.outputs(asked).numpy()
        index = pandas.Index(asked.ids, name="id")
        if self.answer == "class":
            held = self.held_classes(out, coverage)
            order = (-out).argsort(axis=1, kind="stable")
            named = [
                tuple(self.classes[c] for c in classes if row[c])
                for classes, row in zip(order, held, strict=True)
            ]
            return pandas.Series(named, index=index, name="set", dtype=object)
        low, high = self.ends(out, coverage)
        columns = {
            f"{name} {end}": values[:, k]
            for k, name in enumerate(self.targets)
            for end, values in (("low", low), ("high", high))
        }
        return pandas.DataFrame(columns, index=index)

    def asked(self, data: Any = None, x: Any = None, **options: Any) -> Asked:
        """What is asked about, as a task whose columns are in the order that the model knows."""
        return asked_of(self, data, x, **options)

    def outputs(self, asked: Asked) -> Tensor:  # (items, outputs)
        """Probabilities, or numbers in their unit."""
        with torch.no_grad():
            out = self._outputs(asked.task, asked.labels)
        return out if asked.rows is None else out[asked.rows]

    def _outputs(self, task: Task, labels: tuple[Tensor, Tensor] | None) -> Tensor:
        raise NotImplementedError

    def as_network(self, asked: Asked) -> tuple[Any, Task]:
        """A module from features and a graph to logits or standardised numbers, and its data."""
        raise NotImplementedError

    def frame(self, asked: Asked, out: Tensor) -> "pandas.DataFrame":
        """The predictions as a table, one row per item."""
        import pandas

        columns, rows = self.table(asked, out)
        return pandas.DataFrame(list(rows), columns=columns).set_index("id")

    def table(self, asked: Asked, out: Tensor) -> tuple[list[str], Any]:
        """The names of the columns, and the rows."""
        return prediction_table(self, asked, out)

    @property
    def separator(self) -> str:
        """What stands between several labels of one item."""
        options = self.header["spec"].get("data_options") or {}
        return options.get("label_separator") or SEVERAL

    def held_classes(self, probabilities: Array, coverage: float) -> Array:  # (n, C) booleans
        """Which classes are in the set of each item."""
        if self.strangeness is None:
            raise InputError(_no_sets(self))
        return class_sets(probabilities, self.strangeness, coverage)

    def ends(self, values: Array, coverage: float) -> tuple[Array, Array]:  # (n, T), (n, T)
        """The ends of the interval of each number."""
        if self.answer != "value" or self.strangeness is None:
            raise InputError(_no_sets(self))
        return intervals(values, self.strangeness, coverage, self.spec.log_targets)

    def __repr__(self) -> str:
        count = len(self.targets or self.classes)
        noun = "target" if self.targets else "class" if count == 1 else "classes"
        what = (
            "links"
            if self.kind == "link"
            else f"{count} {noun}{'s' * (noun == 'target' and count > 1)}"
        )
        return f"Predictor({self.spec.dataset}: {self.form}, {what})"


class Network(Predictor):
    """A trained network."""

    form = "network"

    def __init__(self, path: Path, tensors: dict[str, Tensor], header: dict[str, Any]) -> None:
        from pgso.training.checkpoint import network_of

        self.network, _ = network_of(path, tensors, header)
        self.network.eval()
        super().__init__(path, tensors, header)
        with naming(path):
            scale = header.get("scale")
            self.scale = None if scale is None else Scale(**scale)

    def _outputs(self, task: Task, labels: tuple[Tensor, Tensor] | None) -> Tensor:
        from pgso.training.loops import predict_outputs

        out = predict_outputs(self.network, self.on_its_base(task))
        if self.scale is not None:
            return self.scale.decode(out)
        temperature = calibration_of(self.header).get("temperature", 1.0)
        if self.answer == "class":
            return (out / temperature).softmax(dim=1)
        return (out / temperature).sigmoid()

    def as_network(self, asked: Asked) -> tuple[Any, Task]:
        return self.network, self.on_its_base(asked.task)

    def on_its_base(self, task: Task) -> Task:
        """The task with its graph turned into the base that the network was trained on."""
        if self.spec.base is None:
            return task
        from pgso.bases import BASES

        return replace(task, graph=BASES[self.spec.base](task.graph), relations=None)


class Found(Predictor):
    """What ``find`` has kept: a closed form, a blend of several, or trees on top."""

    form = "closed form"

    def __init__(self, path: Path, tensors: dict[str, Tensor], header: dict[str, Any]) -> None:
        from pgso.finding.predictor import ClosedForm

        super().__init__(path, tensors, header)
        with naming(path):
            self.head = ClosedForm.from_state(part_of(tensors, "head/"), header["head"])
            if len(self.head.parts[0].intercept) != len(self.targets or self.classes):
                raise ValueError("outputs that do not fit the classes")

    def _outputs(self, task: Task, labels: tuple[Tensor, Tensor] | None) -> Tensor:
        sizes = task.nodes_per_graph if task.kind == "graph" else None
        out: Tensor = self.head(task.x, task.edges, sizes, labels)
        if self.answer == "class":
            return out.softmax(dim=1).float()
        scale = self.head.scale
        return out if scale is not None and scale.needs_64_bits else out.float()

    def as_network(self, asked: Asked) -> tuple[Any, Task]:
        from pgso.finding.predictor import AsNetwork

        return AsNetwork(self.head, asked.labels), asked.task


def _strangeness(
    tensors: Mapping[str, Tensor], header: Mapping[str, Any], targets: int
) -> Array | None:
    """What prediction sets are made from; of older files the half-widths of 90 % alone."""
    if "strangeness" in tensors:
        kept: Array = tensors["strangeness"].numpy()
        if kept.ndim != (2 if targets else 1) or (targets and kept.shape[1] != targets):
            raise ValueError("errors that do not fit the targets")
        return kept
    widths = header.get("residuals")
    if not targets or not widths:
        return None
    import numpy as np

    return np.tile(np.array(widths, dtype=np.float64), (9, 1))


def _no_sets(predictor: Predictor) -> str:
    if predictor.answer not in ("class", "value"):
        return "prediction sets are of one class or of numbers each, not of several labels or links"
    return f"{predictor.path} was saved without what sets are made from; save it again"
