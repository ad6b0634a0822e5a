"""A task: graphs, features, answers, splits and objective; all that training needs to know.

Importing this needs no torch: the command line lists the datasets that make tasks.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from pgso.data import arrays
from pgso.data.arrays import Array, Split
from pgso.errors import InputError
from pgso.objectives import OBJECTIVES, Answer, Objective
from pgso.objectives.values import Scale

if TYPE_CHECKING:
    import pandas
    import scipy.sparse
    import torch
    from torch import Tensor

    from pgso.data.batch import Batch, Slices
    from pgso.data.tables.columns import Preparation
    from pgso.graph import Graph, Relations

    Edges = Mapping[str, tuple[Array, Array | None]]

IN_MEMORY = "in memory"  # stands for the dataset in a spec of data that have no name


@dataclass(frozen=True, eq=False, repr=False)
class Task:
    """Nodes, graphs or links to be learned about, with the split to do it on.

    ``x`` holds one row per node: floats (dense, or a torch.sparse CSR tensor where few entries
    are not zero), or integers, column c with ``categories[c]`` values, to be embedded. ``y`` is the
    class, -1 where it is unknown; or it has a column per label (1, 0) or per number, NaN where it
    is unknown. ``train``, ``val`` and ``test`` are indices of nodes or of graphs.

    Of a link task, ``train`` are places in ``graph.edge_index``, whose links are learned from;
    ``val`` and ``test`` are rows of ``pairs``: a link that the graph does not have, then pairs of
    nodes that are none.

    Example:
        >>> from pgso.data import load_task
        >>> task = load_task("karate")
        >>> task
        Task(karate: 1 graph, 34 nodes, 156 edges, 34 features, 2 classes, accuracy)
    """

    name: str
    kind: Literal["node", "graph", "link"]
    metric: str  # the objective's name
    graph: Graph  # of a graph task: all graphs side by side, a disjoint union
    x: Tensor  # (n, F)
    y: Tensor  # (items,) int64, or (items, columns) float32
    train: Tensor  # int64 indices
    val: Tensor
    test: Tensor  # empty where a protocol has no test set
    classes: tuple[str, ...]  # names, of labels too
    nodes_per_graph: Tensor  # (num_graphs,)
    categories: tuple[int, ...] | None = None
    ids: tuple[str, ...] | None = None  # what the user calls each node or graph
    columns: tuple[str, ...] | None = None  # and each column of x
    targets: tuple[str, ...] = ()  # the names of y's columns, where they are numbers
    relations: Relations | None = None  # the graph's edges by their kind, where they have kinds
    pairs: Tensor | None = None  # (rows, 1 + m, 2) of a link task: sources and targets
    preparation: Preparation | None = None  # how x was made of the user's table
    gaps: Mapping[str, int] = field(default_factory=dict)  # missing cells of that table's columns
    positive: str | None = None  # of two classes the rarer one, or the one that was named
    notes: tuple[str, ...] = ()  # what a user should know about how the files were read
    of_a_model: int = 0  # how many of the last nodes are known to a saved model only
    # What follows from the fields above.
    edges: Graph | Relations = field(init=False)  # what a network is applied to
    objective: Objective = field(init=False)  # what is learned and how it is scored
    answer: Answer = field(init=False)  # what y says about each item
    has_answer: Tensor = field(init=False)  # (items,) of which something is known
    num_graphs: int = field(init=False)  # 1 for a node task
    num_nodes: int = field(init=False)  # of all graphs together
    num_edges: int = field(init=False)  # directed ones of all graphs together
    num_features: int = field(init=False)  # columns of x
    num_classes: int = field(init=False)  # or of labels
    num_outputs: int = field(init=False)  # numbers that a network says about a node or a graph

    def __post_init__(self) -> None:
        objective = OBJECTIVES[self.metric]
        if self.positive is not None:
            objective = objective.of_class(self.positive, self.classes.index(self.positive))
        answer = "value" if self.targets else "labels" if self.y.dim() == 2 else "class"
        vars(self).update(  # past the check of a frozen class
            edges=self.graph if self.relations is None else self.relations,
            objective=objective,
            answer="link" if self.kind == "link" else answer,
            has_answer=self.y.isfinite().any(dim=1) if self.y.dim() == 2 else self.y >= 0,
            num_graphs=self.nodes_per_graph.numel(),
            num_nodes=self.graph.num_nodes,
            num_edges=self.graph.num_edges,
            num_features=self.x.size(1),
            num_classes=len(self.classes),
            num_outputs=len(self.targets) or len(self.classes),
        )

    @classmethod
    def of(
        cls,
        data: Any,
        x: Any = None,
        y: Any = None,
        *,
        train: Any = None,
        val: Any = None,
        test: Any = None,
        seed: int = 0,
        objective: str | None = None,
        positive: object = None,
        **options: Any,
    ) -> Task:
        """A task of anything that can be one.

        ``data`` is a dataset's name or the path of own files (:func:`pgso.load_task`); PyG's
        ``Data``, ``HeteroData`` or ``Dataset`` (:meth:`from_data`); two frames of nodes and edges
        (:meth:`from_frames`); or a graph, as ``pgso.Graph`` or ``find`` take it, with ``x`` and
        ``y``. x holds numbers, or is a frame with words, dates and gaps, or None for the identity.
        y is a class per node (-1, None, NaN: unknown), or numbers, in one column or several.

        ``train``, ``val`` and ``test`` are indices or masks of a graph's nodes; where data bring no
        split, the ``seed`` makes one, 60/20/20. ``objective`` is what is scored, by default the
        data's own; ``positive`` is the one of two classes that scores are about, by default the
        rarer one. ``options`` are those of the dataset, the folder or the frames.

        Example:
            >>> Task.of([[0, 1, 2], [1, 2, 3]], y=[0.5, 1.5, 2.5, 4.5])
            Task(in memory: 1 graph, 4 nodes, 3 edges, 4 features, 1 target, rmse)
        """
        from pgso.data.load import load_task
        from pgso.data.pyg import answers_of, graph_task, indices_of, is_collection
        from pgso.data.splits import split_by_seed

        chosen: dict[str, Any] = {"objective": objective, "positive": positive}
        parts = {"train": train, "val": val, "test": test}
        if isinstance(data, tuple) and len(data) == 3 and not is_collection(data):
            data, x, y = data
        given = [name for name, value in {"x": x, "y": y, **parts}.items() if value is not None]
        if isinstance(data, tuple) and len(data) == 2 and all(hasattr(d, "columns") for d in data):
            return cls.from_frames(data[0], data[1], seed=seed, **chosen, **options)
        is_whole = isinstance(data, Task | str | os.PathLike) or is_collection(data)
        is_whole = is_whole or (x is None and y is None)
        if is_whole and given:
            advice = f"leave out {' and '.join(given)}, or give a graph with x and y"
            problem = "data that are a task of their own have features, labels and a split"
            raise InputError(f"{problem}; {advice}")
        if isinstance(data, Task):
            return data.scored_by(objective, positive)
        if isinstance(data, str | os.PathLike):
            return load_task(data, seed=seed, **chosen, **options)
        if is_whole:
            return cls.from_data(data, seed, **chosen, **options)
        if options:
            raise InputError(f"a graph has no option {next(iter(options))!r}; leave it out")
        if y is None:
            raise InputError("a task needs y, an answer per node, -1 or NaN where it is unknown")
        answers = answers_of(y, of_numbers(objective))
        split: Any = split_by_seed(answers["y"], seed)
        if any(part is not None for part in parts.values()):
            n = len(answers["y"])
            split = tuple(indices_of(part, name, n) for name, part in parts.items())
        return graph_task(data, x, split=split, **answers).scored_by(objective, positive)

    @classmethod
    def from_frames(
        cls,
        nodes: pandas.DataFrame | None,
        edges: pandas.DataFrame,
        target: str | Sequence[str] | None = None,
        key: str | None = None,
        *,
        split: str | None = None,
        seed: int = 0,
        name: str = IN_MEMORY,
        objective: str | None = None,
        positive: object = None,
        kinds: Mapping[str, str] | None = None,
        **options: Any,
    ) -> Task:
        """A task of pandas' frames, read and prepared as the files of a folder are.

        ``nodes`` has one row per node: its name, features of any kind and what is to be learned; an
        index that is not 0, 1, ... is a column. ``edges`` has one row per edge: ``source``,
        ``target`` and maybe ``weight`` or ``relation``. ``target`` is the column to learn: classes,
        or numbers if it has fractions or many values; several columns hold numbers; None: there is
        nothing to learn. ``key`` is the column that names the nodes, by default the one that a
        folder's reader finds, ``split`` one with train, val, test or nothing. ``kinds`` are what
        ``columns.json`` would say, such as ``{"postcode": "category"}``. Others are as in
        :meth:`of`; ``options`` are a folder's: undirected, weight, label_separator, rows, unknown.
        """
        from pgso.data.tables.folder import frame_task

        options |= {"key": key, "split_by": split, "kinds": kinds or {}}
        options["target"] = tuple(target) if isinstance(target, list) else target
        task = frame_task(nodes, edges, seed, unlabelled=target is None, **options)
        return replace(task.scored_by(objective, positive), name=name)

    @classmethod
    def from_arrays(
        cls,
        name: str,
        *,
        edge_index: Array,  # (2, E) sources and targets; edges listed twice are summed
        x: Array | scipy.sparse.csr_array,  # (n, F) numbers, or (n, k) integers with categories
        y: Array,  # (items,) classes, -1: unknown; or (items, columns), NaN: unknown
        split: Split,  # indices of the training, validation and test set
        edge_weight: Array | None = None,  # (E,)
        relations: Edges | None = None,  # edges and weights by name, where edges have kinds
        nodes_per_graph: Array | None = None,  # None: one graph, a node task
        classes: tuple[str, ...] = (),
        targets: tuple[str, ...] = (),
        metric: str = "accuracy",
        **described: Any,
    ) -> Task:
        """A task of numpy's arrays, checked; this is what datasets are made by.

        Without ``classes`` (of labels too) and ``targets`` (of numbers) the task is there to
        predict on. ``described`` are other fields of a task: categories, ids, columns,
        preparation, gaps, notes.
        """
        import torch

        from pgso.data.inputs import graph_of, stored
        from pgso.graph import Relations

        n = int(x.shape[0])
        sizes = np.array([n]) if nodes_per_graph is None else nodes_per_graph
        answer: Answer = "value" if targets else "labels" if y.ndim == 2 else "class"
        items = n if nodes_per_graph is None else len(sizes)
        given = (name, x, edge_index, edge_weight, sizes, y, items, classes, targets)
        arrays.check_arrays(*given)
        arrays.check_split(name, y, split, classes, targets)
        if classes or targets:
            arrays.check_objective(metric, answer, len(classes), name)
        whole = {"train": split[0], "val": split[1], "test": split[2], "nodes_per_graph": sizes}
        whole |= {"y": y} if answer == "class" else {}
        whole |= {"x": x} if described.get("categories") is not None else {}
        tensors: dict[str, Any] = {  # of whole numbers
            key: torch.from_numpy(np.ascontiguousarray(array, dtype=np.int64))
            for key, array in whole.items()
        }
        kinds = {kind: graph_of(*edges, n) for kind, edges in (relations or {}).items()}
        if answer != "class":  # 32 bits, unless rounding would blur how training targets differ
            answers = torch.from_numpy(np.ascontiguousarray(y, dtype=np.float64))
            needs_64_bits = Scale.of(answers[tensors["train"]]).needs_64_bits
            tensors["y"] = answers if needs_64_bits else answers.float()
        if described.get("categories") is None:  # batches take rows, which sparse matrices do not
            tensors["x"] = stored(x, may_be_sparse=nodes_per_graph is None)
        return cls(
            name=name,
            kind="node" if nodes_per_graph is None else "graph",
            metric=OBJECTIVES[metric].name,
            graph=graph_of(edge_index, edge_weight, n),
            classes=classes,
            targets=targets,
            relations=None if relations is None else Relations(kinds, n),
            positive=arrays.rarer_class(y[split[0]], classes),
            **tensors,
            **described,
        )

    @classmethod
    def from_data(
        cls,
        data: Any,
        seed: int = 0,
        name: str = IN_MEMORY,
        target: str | None = None,
        objective: str | None = None,
        positive: object = None,
    ) -> Task:
        """A task of PyG's data.

        ``data`` is ``Data`` with an answer per node in ``y`` and maybe masks; ``HeteroData`` with
        answers on one type of nodes, or several and ``target`` naming one; or a ``Dataset`` or list
        of graphs with an answer each. The nodes of ``HeteroData`` become one graph, the target type
        first. Each type has columns of its own in ``x`` (a column of ones if it has no features),
        and the types of edges are ``relations``, for terms such as ``"gcn@cites"``. Without masks
        the ``seed`` splits. ``objective`` and ``positive`` are as in :meth:`of`.
        """
        from pgso.data.pyg import task_from_data

        task = task_from_data(data, seed, target, of_numbers(objective), name)
        return task.scored_by(objective, positive)

    def scored_by(self, objective: str | None, positive: object = None) -> Task:
        """The same with another objective, and about another of its two classes; None: as it is."""
        changes: dict[str, Any] = {}
        if objective is not None:
            arrays.check_objective(objective, self.answer, self.num_classes, self.name)
            changes["metric"] = OBJECTIVES[objective].name
        if positive is not None:
            changes["positive"] = arrays.named_class(positive, self.classes, self.name)
        return replace(self, **changes) if changes else self

    def with_edges(self, edge_index: Array, edge_weight: Array | None = None) -> Task:
        """The same nodes with other edges, of numpy's arrays."""
        from pgso.data.inputs import graph_of

        return replace(self, graph=graph_of(edge_index, edge_weight, self.num_nodes))

    def batch(self, indices: Tensor) -> Batch:
        """Some graphs as one, in the order of ``indices`` (int64), which may repeat."""
        if self.kind != "graph":
            raise InputError(f"{self.name} is one graph: train on task.graph instead of batches")
        return self._slices.batch(indices)

    @cached_property
    def _slices(self) -> Slices:
        from pgso.data.batch import Slices

        return Slices(self.graph, self.x, self.y, self.nodes_per_graph)

    def to(self, device: torch.device | str | None) -> Task:
        """The same task on another device."""
        values = {part.name: getattr(self, part.name) for part in fields(self) if part.init}
        moved = {name: value.to(device) for name, value in values.items() if hasattr(value, "to")}
        return replace(self, **moved)

    def __repr__(self) -> str:
        graphs = "1 graph" if self.num_graphs == 1 else f"{self.num_graphs} graphs"
        what = {
            "class": f"{self.num_classes} classes",
            "labels": f"{self.num_classes} labels",
            "value": f"{len(self.targets)} target{'s' * (len(self.targets) > 1)}",
            "link": "links",
        }[self.answer]
        return (
            f"Task({self.name}: {graphs}, {self.num_nodes} nodes, {self.num_edges} edges, "
            f"{self.num_features} features, {what}, {self.metric})"
        )


def of_numbers(objective: str | None) -> bool:
    """Whether an objective asks for numbers, so that whole ones are no classes."""
    return objective is not None and OBJECTIVES[objective].answer == "value"
