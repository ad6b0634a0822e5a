"""``load``: a saved model, and what it says about new nodes and new graphs."""

import math
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas
import torch
from torch import Tensor

from pgso.bases import BASES
from pgso.data import Task
from pgso.data.arrays import Array
from pgso.data.links import NonLinks
from pgso.data.tables.answers import SEVERAL
from pgso.data.tables.columns import Preparation
from pgso.errors import InputError
from pgso.evaluation.conformal import LEVEL, class_sets, intervals
from pgso.objectives import OBJECTIVES
from pgso.objectives.values import Scale
from pgso.predictors.inputs import Asked, asked_of
from pgso.records import RunSpec
from pgso.saved import memory_of, naming, places, read_model

if TYPE_CHECKING:
    from pgso.models.gnn import LinkModel

MOST_NODES = 50_000  # above which the best of all pairs would take too long
PERCENT = f"{100 * LEVEL:.0f}"


def load(path: str | os.PathLike[str]) -> "Predictor":
    """The model that ``pgso find --save``, ``pgso train --save`` or ``found.save`` has written.

    Example:
        >>> import tempfile
        >>> import pgso
        >>> found = pgso.find("karate")
        >>> predictor = pgso.load(found.save(Path(tempfile.mkdtemp()) / "model"))
        >>> predictor
        Predictor(karate: closed form, 2 classes)
        >>> bool((predictor.predict(found.task.graph, found.task.x) == found.predict()).all())
        True
    """
    path = Path(path).expanduser()
    return Predictor(path, read_model(path))


class Predictor:
    """A saved model: a network, a closed form or trees.

    Attributes:
        header: What it was fitted to, and how its table is prepared, as plain data and tensors.
        spec: The run, or the run that would train a network with what was found.
        network: A module from features and a graph to logits or standardised numbers; of a closed
            form, to numbers in their unit.
        memory: The graph that it was fitted on; None if it was not kept.
    """

    def __init__(self, path: Path, header: dict[str, Any]) -> None:
        self.path, self.header = path, header
        with naming(path):
            self.is_closed = {"network": False, "closed form": True}[header["form"]]
            self.spec = RunSpec(complete=True, **header["spec"])
            self.kind, self.num_features = str(header["kind"]), int(header["num_features"])
            self.classes = tuple(map(str, header["classes"]))
            self.targets = tuple(map(str, header["targets"]))
            self.answer = OBJECTIVES[header["objective"]].answer
            self.preparation = Preparation.model_validate(header["preparation"] or {})
            self.coverage = {str(k): float(v) for k, v in (header["coverage"] or {}).items()}
            calibration = {str(k): float(v) for k, v in (header.get("calibration") or {}).items()}
            is_calibrated = math.isfinite(calibration.get("temperature", math.nan))
            self.calibration = calibration if is_calibrated else {}
            self.memory = None if header["memory"] is None else memory_of(header["memory"])
            self.strangeness: Array | None = None
            if header["strangeness"] is not None:
                self.strangeness, count = header["strangeness"].numpy(), len(self.targets)
                if self.strangeness.shape[1:] != ((count,) if count else ()):
                    raise ValueError("errors that do not fit the targets")
            self.labels: tuple[Tensor, Tensor] | None = None
            if header.get("labels") is not None:
                nodes, targets = header["labels"]
                if targets.dim() != 2 or len(places(nodes, header["num_nodes"])) != len(targets):
                    raise ValueError("labels that do not fit their nodes")
                self.labels = nodes, targets
            scale = header.get("scale")
            self.scale = None if scale is None else Scale(**scale)
            self.network: Any = None
            if self.is_closed:
                from pgso.finding.predictor import ClosedForm

                self.network = ClosedForm.from_state(header["head"])
                if len(self.network.parts[0].intercept) != len(self.targets or self.classes):
                    raise ValueError("outputs that do not fit the classes")
        if not self.is_closed:
            from pgso.training.session import network_of

            self.network = network_of(path, header).eval()

    def predict(
        self, data: Any = None, x: Any = None, *, skip_bad_rows: bool = False, **options: Any
    ) -> Tensor | pandas.DataFrame:
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
        return prediction_table(self, asked, out).set_index("id") if asked.is_named else out

    def sets(
        self, data: Any = None, x: Any = None, *, coverage: float = LEVEL, **options: Any
    ) -> "pandas.Series[Any] | pandas.DataFrame":
        """Sets of classes, or intervals of numbers, that hold the truth with some probability.

        It is split conformal prediction, on labels of validation, which the model was not fitted
        to: the ``coverage``, above 0 and below 1, holds on average over items like those. ``data``,
        ``x`` and ``options`` are as in :meth:`predict`. Classes give a series of tuples of their
        names, the most probable first, numbers a frame of ``NAME low`` and ``NAME high``.
        """
        if self.answer not in ("class", "value"):
            others = "not of several labels or links"
            raise InputError(f"prediction sets are of one class or of numbers each, {others}")
        if self.strangeness is None:
            problem = "was saved without labels of validation, which sets are made from"
            raise InputError(f"{self.path} {problem}; save it again with some")
        asked = self.asked(data, x, **options)
        out = self.outputs(asked).numpy()
        index = pandas.Index(asked.ids, name="id")
        if self.answer == "class":
            held = class_sets(out, self.strangeness, coverage)
            order = (-out).argsort(axis=1, kind="stable")
            named = [
                tuple(self.classes[c] for c in classes if row[c])
                for classes, row in zip(order, held, strict=True)
            ]
            return pandas.Series(named, index=index, name="set", dtype=object)
        low, high = intervals(out, self.strangeness, coverage, self.spec.log_targets)
        columns = {
            f"{name} {end}": values[:, k]
            for k, name in enumerate(self.targets)
            for end, values in (("low", low), ("high", high))
        }
        return pandas.DataFrame(columns, index=index)

    asked = asked_of

    def outputs(self, asked: Asked) -> Tensor:  # (items, outputs)
        """Probabilities, or numbers in their unit."""
        network, task = self.as_network(asked)
        if self.is_closed:
            graphs = {}
            if task.kind == "graph":
                owner = torch.repeat_interleave(task.nodes_per_graph)
                graphs = {"batch": owner, "num_graphs": task.num_graphs}
            with torch.no_grad():
                out: Tensor = network(task.x, task.edges, **graphs)
            if self.answer == "class":
                out = out.softmax(dim=1)
            scale = network.scale
            out = out if scale is not None and scale.needs_64_bits else out.float()
        else:
            from pgso.evaluation.scores import predict_outputs

            with torch.no_grad():
                out = predict_outputs(network, task)
            if self.scale is not None:
                out = self.scale.decode(out)
            else:
                out = out / self.calibration.get("temperature", 1.0)
                out = out.softmax(dim=1) if self.answer == "class" else out.sigmoid()
        return out if asked.rows is None else out[asked.rows]

    def as_network(self, asked: Asked) -> tuple[Any, Task]:
        """A module from features and a graph to logits or numbers, and the data for it."""
        if self.is_closed:
            return self.network.knowing(asked.labels), asked.task
        if self.spec.base is None:
            return self.network, asked.task
        graph = BASES[self.spec.base](asked.task.graph)  # that it was trained on
        return self.network, replace(asked.task, graph=graph, relations=None)

    @property
    def separator(self) -> str:
        """What stands between several labels of one item."""
        return str(self.spec.data_options.get("label_separator") or SEVERAL)

    def __repr__(self) -> str:
        count = len(self.targets or self.classes)
        plural = "" if count == 1 else "s" if self.targets else "es"
        what = f"{count} {'target' if self.targets else 'class'}{plural}"
        what = "links" if self.kind == "link" else what
        return f"Predictor({self.spec.dataset}: {self.header['form']}, {what})"


def prediction_table(model: Predictor, asked: Asked, out: Tensor) -> pandas.DataFrame:
    """What the model says of each item, then what is known.

    Classes: the most probable one, how probable it is, the probability of every class, and a set
    of classes that holds the truth in 90 %. Labels: those above one half, as ``red|blue``, and the
    probability of each. Numbers: the prediction and an interval that holds the truth in 90 %.
    Known are ``label``, or ``true NAME`` of numbers, and ``split`` of the data it was trained on.
    """
    values = out.numpy()
    columns: dict[str, Any] = {"id": asked.ids}
    if model.answer == "value":
        low = high = np.full_like(values, np.nan)
        if model.strangeness is not None:
            ends = intervals(values, model.strangeness, LEVEL, model.spec.log_targets)
            low, high = (end.astype(values.dtype) for end in ends)
        for k, name in enumerate(model.targets):
            name = f"predicted {name}" if name in ("id", "rank") else name  # which tables have too
            for end, part in (("", values), (f" low {PERCENT}", low), (f" high {PERCENT}", high)):
                columns[f"{name}{end}"] = part[:, k]
    else:
        names, each = model.classes, {f"p({c})": values[:, k] for k, c in enumerate(model.classes)}
        if model.answer == "labels":
            columns |= {"prediction": _chosen(names, values > 0.5, model.separator), **each}
        else:
            columns["prediction"] = [names[k] for k in values.argmax(axis=1)]
            columns |= {"probability": values.max(axis=1), **each}
            if model.strangeness is not None:
                held = class_sets(values, model.strangeness, LEVEL)
                columns[f"set {PERCENT}"] = _chosen(names, held, model.separator)
    task, told = asked.task, dict[str, Any]()
    if task.targets:
        told = {f"true {name}": task.y[:, k].numpy() for k, name in enumerate(task.targets)}
    elif task.answer == "labels" and task.classes:
        named = _chosen(task.classes, task.y.numpy() == 1, model.separator)
        told["label"] = np.where(task.has_answer.numpy(), named, "")
    elif task.classes:
        told["label"] = np.array([*task.classes, ""], dtype=object)[task.y.numpy()]  # -1: ""
    if asked.is_trained_here and len(task.train):
        told["split"] = np.full(len(task.y), "", dtype=object)
        for name in ("train", "val", "test"):
            told["split"][getattr(task, name).numpy()] = name
    known = pandas.DataFrame(told, index=range(len(task.y)))
    if asked.rows is not None:
        known = known.iloc[asked.rows.numpy()].reset_index(drop=True)
        known = known[[] if known.isin(["", None, np.nan]).all(axis=None) else list(known)]
    return pandas.concat([pandas.DataFrame(columns), known], axis=1)


def _chosen(names: Sequence[str], is_chosen: Any, separator: str) -> list[str]:
    """As labels.csv has them, where a separator alone says that there are none."""
    named = ([n for n, yes in zip(names, row, strict=True) if yes] for row in is_chosen)
    return [separator.join(labels) or separator for labels in named]


def most_probable_links(
    model: "LinkModel", task: Task, count: int, ids: Sequence[Any]
) -> pandas.DataFrame:
    """The pairs of nodes that are most probably linked and are not, best first.

    Links that were held out for validation and test are links: they are not among them.
    """
    n = task.num_nodes
    if n > MOST_NODES:
        most = f"the best of all pairs are looked for up to {MOST_NODES}"
        raise InputError(f"{task.name} has {n} nodes; {most}")
    model.eval()
    links = [task.graph.edge_index, *([] if task.pairs is None else [task.pairs[:, 0].T])]
    none = NonLinks(torch.cat(links, dim=1).numpy(force=True), n)
    best, pairs = torch.empty(0), torch.empty(0, 2, dtype=torch.long)
    with torch.no_grad():
        z = model.encoder(task.x, task.graph)
        for source in range(n):
            target = torch.arange(source + 1 if task.graph.is_undirected else 0, n)
            from_here = torch.stack([torch.full_like(target, source), target], dim=1)
            free = ~torch.from_numpy(none.are_links(*from_here.numpy().T))
            from_here = from_here[free]
            best = torch.cat([best, model.decode(z, from_here)])
            pairs = torch.cat([pairs, from_here])
            order = best.argsort(descending=True, stable=True)[:count]
            best, pairs = best[order], pairs[order]
    sources, targets = ([ids[node] for node in side] for side in pairs.T.tolist())
    probability = best.sigmoid().numpy()
    return pandas.DataFrame({"source": sources, "target": targets, "probability": probability})
