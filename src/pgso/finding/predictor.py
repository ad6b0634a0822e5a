"""What a finding learned: a module for any graph with the same features, and a saved model."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from pgso.errors import InputError
from pgso.evaluation.conformal import FEWEST, measured, strangeness
from pgso.finding.blocks import GraphBlocks, Word, pooled, weighted_sum
from pgso.finding.columns import neighbour_labels, structural_columns
from pgso.finding.forest import Forest
from pgso.finding.heads import Head, Table, mixture
from pgso.finding.ladder import Fitted, Ladder
from pgso.finding.problem import Problem, one_hot
from pgso.finding.propagation import Letter, Propagation
from pgso.finding.scaling import Preparation
from pgso.finding.scores import Readout
from pgso.graph import Graph, Relations
from pgso.objectives.values import Scale
from pgso.saved import Memory, State, count_of, part_of, write_model

if TYPE_CHECKING:
    from pgso.finding.finding import Finding

MOST_WORDS = 1000  # of a saved model


@dataclass(frozen=True, eq=False)
class Part:
    r"""The closed form of one rung: :math:`b + \sum_w \gamma_{w_1} \gamma_{w_2} \cdots x W_w`."""

    words: tuple[Word, ...]
    weights: tuple[Tensor, ...]  # (F, C) of each word
    intercept: Tensor  # (C,)
    readout: Readout
    share: float  # of the mixture

    @classmethod
    def of(cls, fitted: Fitted, share: float) -> "Part":
        """A rung as it was fitted."""
        fit = fitted.fit
        return cls(fitted.words, fit.weights, fit.intercept, fitted.readout, share)


class ClosedForm(nn.Module):
    """The mixture of closed forms, and of trees, that a finding predicts with.

    x is prepared as the features of the fit were. Nodes of another graph have no label that is
    known, unless ``labels`` says which have one: where the labels of neighbours are columns, they
    are 0 there, an average label.
    """

    def __init__(
        self,
        num_features: int,
        parts: Sequence[Part],
        *,
        is_classes: bool,
        preparation: Preparation | None,
        categories: tuple[int, ...] | None = None,
        trees: Forest | None = None,
        table: Table | None = None,
        pooling: Mapping[Word, Preparation] | None = None,
    ) -> None:
        super().__init__()
        self.num_features, self.parts, self.is_classes = num_features, tuple(parts), is_classes
        self.preparation, self.categories = preparation, categories
        self.trees, self.table = trees, table
        self.pooling = pooling  # of a graph task: how the pooled columns of each word are scaled

    @classmethod
    def of(cls, ladder: Ladder, head: Head) -> "ClosedForm":
        """What predicts in a finding."""
        problem, blocks = ladder.problem, ladder.blocks
        if problem.has_coordinates:
            raise InputError(
                "without features, the nodes of this finding are known by their place in its "
                "graph; another graph has no such place, and nothing is saved or predicted there"
            )
        names = [name for name in head.weights if name != "trees"]
        parts = [Part.of(ladder.fitted[name], head.weights[name]) for name in names]
        return cls(
            problem.num_features,
            parts,
            is_classes=problem.answer == "class",
            preparation=problem.preparation,
            categories=problem.categories,
            trees=None if head.trees is None else Forest.of(head.trees),
            table=head.table,
            pooling=blocks.scaling if isinstance(blocks, GraphBlocks) else None,
        )

    @property
    def scale(self) -> Scale | None:
        """How numbers are standardised; None of classes."""
        return self.parts[0].readout.scale

    @property
    def needs_labels(self) -> bool:
        """Whether the labels of neighbours are among its columns."""
        words = [word for part in self.parts for word in part.words]
        return any(word.of == "labels" for word in (*words, *self._table_words))

    @property
    def _table_words(self) -> tuple[Word, ...]:
        return () if self.table is None else self.table.words

    def forward(
        self,
        x: Tensor,  # (n, F)
        graph: Graph | Relations,
        nodes_per_graph: Tensor | None = None,  # of a graph task
        labels: tuple[Tensor, Tensor] | None = None,  # (l,) nodes and (l, C) their targets
    ) -> Tensor:  # (n, C) or (graphs, C)
        """Logits of classes, or numbers in their unit."""
        if x.size(1) != self.num_features:
            raise InputError(f"x has {x.size(1)} columns, the head takes {self.num_features}")
        relations = graph if isinstance(graph, Relations) else None
        together = graph.union if isinstance(graph, Relations) else graph
        x = x if self.categories is None else one_hot(x, self.categories)
        data = _Data(self, x, Propagation(together, relations), nodes_per_graph, labels)
        outs = [part.readout(data.sum_of(part)) for part in self.parts]
        shares = [part.share for part in self.parts]
        if self.trees is not None and self.table is not None and not x.requires_grad:
            columns = self.table.on(data.columns)  # trees have no gradient
            said = self.trees(np.concatenate([outs[0].numpy(), columns], axis=1))
            outs, shares = [*outs, torch.from_numpy(said)], [*shares, 1 - shares[0]]
        return outs[0] if len(outs) == 1 else mixture(self.is_classes, outs, np.array(shares))

    def state(self) -> State:
        """As tensors and plain data."""
        tensors: dict[str, Tensor] = {}
        plain: dict[str, Any] = {
            "num_features": self.num_features,
            "is_classes": self.is_classes,
            "categories": self.categories,
            "parts": [],
        }
        if self.preparation is not None:
            tensors |= _preparation_state("preparation/", self.preparation)
        for k, part in enumerate(self.parts):
            readout = part.readout
            kept = {"intercept": part.intercept, "centre": readout.centre, "prior": readout.prior}
            kept |= {f"weights/{w}": values for w, values in enumerate(part.weights)}
            tensors |= {f"part/{k}/{n}": value for n, value in kept.items() if value is not None}
            scale = None if readout.scale is None else readout.scale.as_dict()
            facts = {"share": part.share, "factor": readout.factor, "scale": scale}
            plain["parts"].append({**facts, "words": _plain_words(part.words)})
        if self.pooling is not None:
            used = {word for part in self.parts for word in part.words} | set(self._table_words)
            words = [word for word in self.pooling if word in used]
            plain["pooling"] = _plain_words(words)
            for k, word in enumerate(words):
                tensors |= _preparation_state(f"pooling/{k}/", self.pooling[word])
        if self.trees is not None and self.table is not None:
            of_trees, plain["trees"] = self.trees.state()
            tensors |= {f"trees/{name}": value for name, value in of_trees.items()}
            plain["table"] = _plain_words(self.table.words)
            for k, V in enumerate(self.table.reductions):
                if V is not None:
                    tensors[f"table/{k}"] = V
        return tensors, plain

    @classmethod
    def from_state(cls, tensors: Mapping[str, Tensor], plain: Mapping[str, Any]) -> "ClosedForm":
        """The same again; what does not fit together is refused."""
        parts = [_part(part_of(tensors, f"part/{k}/"), p) for k, p in enumerate(plain["parts"])]
        if not parts:
            raise ValueError("it has no closed form")
        preparation = _preparation(part_of(tensors, "preparation/"))
        pooling = None
        if "pooling" in plain:
            named = enumerate(_words(plain["pooling"]))
            scaling = {w: _preparation(part_of(tensors, f"pooling/{k}/")) for k, w in named}
            pooling = {w: each for w, each in scaling.items() if each is not None}
        trees = table = None
        if "trees" in plain:
            trees = Forest.from_state(part_of(tensors, "trees/"), plain["trees"])
            words = _words(plain["table"])
            reductions = tuple(tensors.get(f"table/{k}") for k in range(len(words)))
            table = Table(np.zeros((0, 0)), words, reductions)
        categories = plain["categories"]
        return cls(
            count_of(plain["num_features"]),
            parts,
            is_classes=bool(plain["is_classes"]),
            preparation=preparation,
            categories=None if categories is None else tuple(map(count_of, categories)),
            trees=trees,
            table=table,
            pooling=pooling,
        )


class AsNetwork(nn.Module):
    """A closed form that is called as a network is, with the labels that it knows."""

    def __init__(self, head: ClosedForm, labels: tuple[Tensor, Tensor] | None) -> None:
        super().__init__()
        self.head, self.labels = head, labels

    def forward(
        self,
        x: Tensor,
        graph: Graph | Relations,
        edge_weight: None = None,
        batch: Tensor | None = None,
        num_graphs: int | None = None,
    ) -> Tensor:
        """Logits, or numbers."""
        if batch is None:
            return self.head(x, graph, None, self.labels)  # type: ignore[no-any-return]
        sizes = torch.bincount(batch, minlength=num_graphs or 0)
        return self.head(x, graph, sizes)  # type: ignore[no-any-return]


class _Data:
    """The columns of every word on one graph."""

    def __init__(
        self,
        head: ClosedForm,
        x: Tensor,
        propagation: Propagation,
        nodes_per_graph: Tensor | None,
        labels: tuple[Tensor, Tensor] | None,
    ) -> None:
        self.head, self.propagation, self.labels = head, propagation, labels
        self.sizes = nodes_per_graph
        if head.preparation is not None:
            self.x = head.preparation(x)
        else:
            x = (x if x.layout == torch.strided else x.to_dense()).float()
            self.x = torch.cat([x, x.new_ones(len(x), 1)], dim=1)

    def sum_of(self, part: Part) -> Tensor:  # (items, C)
        """What ridge regression says."""
        if self.head.pooling is None:
            given = part.words, part.weights, part.intercept
            return weighted_sum(self.propagation, self.x, *given, self._beside)
        assert self.sizes is not None
        out = part.intercept.float().expand(len(self.sizes), -1)
        for word, W in zip(part.words, part.weights, strict=True):
            out = out + self.columns(word) @ W
        return out

    def columns(self, word: Word) -> Tensor:  # (items, p)
        """The features of a word."""
        if word.of != "x":
            values = self._beside(word)
        else:
            values = self.x if self.x.layout == torch.strided else self.x.to_dense()
            for letter in reversed(word.letters):
                values = self.propagation.times(values, letter)
        if self.head.pooling is None:
            return values
        assert self.sizes is not None
        if word.squared:
            values = values * (self.x if word.squared == "x" else values)
        return self.head.pooling[word](pooled(values, self.sizes))[:, :-1]

    def _beside(self, word: Word) -> Tensor:  # (n, p)
        """Columns that are not of x."""
        if word.of == "structure":
            return structural_columns(self.propagation.graph)
        if self.labels is None:
            outputs = len(self.head.parts[0].intercept)
            return torch.zeros(self.propagation.graph.num_nodes, outputs)
        nodes, targets = self.labels
        return neighbour_labels(self.propagation, word.letters, targets, nodes)


def save_finding(finding: "Finding", path: str | os.PathLike[str], remember: bool = True) -> None:
    """Write what predicts, how its table is prepared, and the graph that it was fitted on."""
    problem, task, record = finding._ladder.problem, finding.task, finding.record
    if problem.answer == "labels":
        raise InputError(
            "a finding with several labels each cannot be saved; save a network instead"
        )
    model = finding.head()
    tensors, plain = model.state()
    tensors = {f"head/{name}": value for name, value in tensors.items()}
    strange, coverage = calibration(problem, finding._head)
    if len(strange):
        tensors["strangeness"] = torch.from_numpy(strange)
    header: dict[str, Any] = {
        "form": "closed form",
        "spec": record.spec,
        "num_features": problem.num_features,
        "num_nodes": problem.graph.num_nodes,
        "classes": problem.classes,
        "categories": problem.categories,
        "kind": problem.kind,
        "columns": None if task is None else task.columns,
        "preparation": None
        if task is None or task.preparation is None
        else task.preparation.model_dump(mode="json"),
        "targets": problem.columns or (() if problem.classes else _numbered(problem.num_outputs)),
        "objective": problem.metric,
        "positive": problem.positive,
        "coverage": coverage,
        "head": plain,
        "found": {
            "rung": record.best,
            "head": record.head,
            "verdict": record.verdict,
            "val": record.kept.val,
            "test": record.kept.test,
        },
    }
    if model.needs_labels:
        tensors |= {"labels/nodes": problem.train, "labels/targets": problem.targets}
    memory = None if task is None or not remember else Memory.of(task)
    if memory is not None:
        of_graph, header["memory"] = memory.state()
        tensors |= {f"memory/{name}": value for name, value in of_graph.items()}
    write_model(path, tensors, header)


def _numbered(count: int) -> tuple[str, ...]:
    return ("value",) if count == 1 else tuple(f"value {k}" for k in range(count))


def calibration(problem: Problem, head: Head) -> tuple[Any, dict[str, float] | None]:
    """How strange the labels are that the head was not fitted to, and what that holds on test.

    Labels of validation. Where they are few, training labels take part with the predictions of
    fits that left them out.
    """
    count = len(problem.train)
    items, honest = torch.cat([problem.train, problem.val]), head.honest
    if len(problem.val) >= FEWEST:
        items, honest = problem.val, honest[count:]

    def said(out: Tensor) -> Any:
        return (out.softmax(dim=1) if problem.classes else out).numpy()

    strange = strangeness(said(honest), problem.y[items].numpy())
    test = problem.test
    return strange, measured(said(head.out[test]), problem.y[test].numpy(), strange)


def _plain_words(words: Sequence[Word]) -> list[dict[str, Any]]:
    return [
        {
            "letters": [[letter.name, list(letter.S), letter.edges] for letter in word.letters],
            "squared": word.squared,
            "of": word.of,
        }
        for word in words
    ]


def _words(plain: Any) -> tuple[Word, ...]:
    if len(plain) > MOST_WORDS or any(len(word["letters"]) > MOST_WORDS for word in plain):
        raise ValueError("too many operators")

    def letter(name: Any, S: Any, edges: Any) -> Letter:
        if len(S) != 7:
            raise ValueError("an S that has not seven numbers")
        return Letter(str(name), tuple(map(float, S)), str(edges))  # type: ignore[arg-type]

    def word(of: Any, squared: Any, letters: Any) -> Word:
        if of not in ("x", "labels", "structure") or squared not in ("", "x", "itself"):
            raise ValueError(f"no columns are called {of!r:.40} {squared!r:.40}")
        return Word(tuple(letter(*each) for each in letters), squared, of)

    return tuple(word(**each) for each in plain)


def _part(tensors: Mapping[str, Tensor], plain: Mapping[str, Any]) -> Part:
    words = _words(plain["words"])
    weights = tuple(tensors[f"weights/{k}"] for k in range(len(words)))
    intercept = tensors["intercept"]
    if intercept.dim() != 1 or any(W.shape[1:] != intercept.shape for W in weights):
        raise ValueError("weights that do not fit together")
    scale = None if plain["scale"] is None else Scale(**plain["scale"])
    readout = Readout(float(plain["factor"]), tensors.get("centre"), tensors.get("prior"), scale)
    if scale is None and (readout.centre is None or readout.prior is None):
        raise ValueError("classes without shares")
    return Part(words, weights, intercept, readout, float(plain["share"]))


def _preparation_state(prefix: str, preparation: Preparation) -> dict[str, Tensor]:
    fields = {name: getattr(preparation, name) for name in ("mean", "factor", "V", "offset")}
    fields["is_there"] = torch.ones(1)  # features that were sparse have none of the others
    return {f"{prefix}{name}": value for name, value in fields.items() if value is not None}


def _preparation(tensors: Mapping[str, Tensor]) -> Preparation | None:
    if not tensors:
        return None
    return Preparation(*(tensors.get(name) for name in ("mean", "factor", "V", "offset")))
