"""What is to be found out: a task prepared for ridge regression, and how good predictions are."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

import numpy as np
import pandas  # PyG has imported it; scipy.stats would take 0.3 s more
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from pgso.data.arrays import Array
from pgso.data.description import is_identity
from pgso.data.inputs import read_graph
from pgso.data.task import Task, of_numbers
from pgso.errors import InputError
from pgso.evaluation.scores import fit_temperature
from pgso.evaluation.statistics import Evidence, challenge
from pgso.finding.columns import Preparation, coordinates, structural_names
from pgso.finding.ridge import ROWS, sample
from pgso.graph import Graph, Relations
from pgso.objectives.values import Scale

MANY_LABELS = 2000  # from here on wide features are reduced to ...
COMPONENTS = 384  # ... this many principal components: a decomposition costs columns³
FOLDS = 5
LEAST_GAIN = 2e-3  # of the loss: what a reader would not call a gain
TEMPERATURES = (0.0, *(2 ** (k / 2) for k in range(-4, 15)))  # 0: a rung that says nothing guesses


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Problem(Task):
    """A task of nodes or graphs, prepared for ridge regression.

    ``x`` is dense or CSR. Dense columns have unit variance. Sparse rows (bags of words) have norm
    1, and their columns stay as they are: rare words would become the largest features. With many
    labels, wide features are reduced to their principal components, and a column of its own for
    each node (no features) to the leading directions of GCN's γ (:func:`coordinates`). The nodes of
    graph tasks keep their features and get a column of ones; it is the pooled columns that have
    unit variance. What lacks one of several numbers does not train.
    """

    raw: Tensor  # (n, F) as in the task; categories are one-hot
    scaling: Preparation | None = None  # what was done to the features of nodes
    has_coordinates: bool = False  # whether x holds :func:`coordinates` in place of the identity
    has_features: bool = True  # False: a column is a node's own, as where x was left out
    # What training labels are fitted to: a column per class, or numbers, standardised.
    Y: Tensor = field(init=False)  # (labels, C), 64 bits
    scale: Scale | None = field(init=False)  # how numbers are standardised; None of classes
    class_weight: Tensor | None = field(init=False)  # (C,) of a label; None: all count the same
    judges: Tensor = field(init=False)  # items whose labels judge: of training, then of validation

    def __post_init__(self) -> None:
        """Make the targets of the training labels, and count the columns of the features.

        Of several labels each, one that is unknown counts as the share of those who have it.
        """
        super().__post_init__()
        y, weight = self.y[self.train], None
        scale = self.objective.scale(y, log=False)
        if scale is not None:
            Y = scale.encode(y.double())
        elif self.answer == "labels":
            Y = y.double().where(y.isfinite(), y.double().nanmean(dim=0).nan_to_num())
        else:
            Y = torch.nn.functional.one_hot(y, len(self.classes)).double()
        if self.objective.is_balanced:
            weight = torch.ones(len(self.classes), dtype=torch.float64)
            weights = self.objective.class_weight(y).double()
            weight[: len(weights)] = weights.where(weights > 0, torch.ones_like(weights))
        vars(self).update(  # past the check of a frozen class
            Y=Y,
            scale=scale,
            class_weight=weight,
            judges=torch.cat([self.train, self.val]),
            # Features are counted as they were before they were prepared.
            num_features=self.raw.size(1) if self.categories is None else len(self.categories),
        )

    @classmethod
    def prepared(cls, task: Task) -> "Problem":
        """A task's features and labels; labels that nothing can be learned from are refused."""
        if task.kind == "link":
            raise InputError(
                f"{task.name} asks for links, and find answers for classes, labels or numbers of "
                "each node or graph; train it with pgso compare instead"
            )
        if not task.classes and not task.targets:
            raise InputError(f"{task.name} was loaded without labels, and find needs some")
        given = {part.name: getattr(task, part.name) for part in fields(Task) if part.init}
        x, scaling, has_features = task.x, None, True
        if task.categories is not None:
            x, given["columns"] = one_hot(task.x, task.categories), None
        if task.kind == "graph":
            x = x.to_dense().float()
            ready = torch.cat([x, x.new_ones(len(x), 1)], dim=1)
        else:
            is_large = len(task.train) > MANY_LABELS and x.size(1) > COMPONENTS
            has_features = not is_identity(task)
            if is_large and not has_features:
                ready = coordinates(task.graph, COMPONENTS)
            else:
                scaling = Preparation.of(x, COMPONENTS if is_large else None)
                ready = scaling(x)
        if task.y.dim() == 2:
            is_known = task.y.isfinite()
            for name in ("train", "val", "test"):
                known = is_known[given[name]]
                is_whole = name == "train" and not task.classes
                given[name] = given[name][known.all(dim=1) if is_whole else known.any(dim=1)]
        labels = task.y[given["train"]]
        if len(labels) < 3:
            raise InputError(
                f"find needs three training labels or more, got {len(labels)}; label more, or put "
                "more of the labels into train"
            )
        if bool((labels == labels[0]).all()):
            said = {
                "class": "labels of {} are of one class; find needs two classes or more",
                "labels": "targets of {} are equal; find needs labels that differ",
                "value": "targets of {} are equal; find needs numbers that differ",
            }[task.answer]
            raise InputError(f"all {len(labels)} training {said.format(task.name)}")
        return cls(
            **{**given, "x": ready},
            raw=x,
            scaling=scaling,
            has_coordinates=task.kind == "node" and scaling is None,
            has_features=has_features,
        )

    def relabelled(self) -> "Problem":
        """The same nodes on the same graph, relabelled at random: a graph that says nothing."""
        generator = torch.Generator().manual_seed(0)
        new = torch.rand(self.graph.num_nodes, generator=generator).double().argsort()

        def moved(graph: Graph) -> Graph:
            return Graph.from_edge_index(new[graph.edge_index], graph.edge_weight, graph.num_nodes)

        kinds = self.relations
        if kinds is not None:
            kinds = Relations({name: moved(part) for name, part in kinds.graphs.items()})
        return replace(self, graph=moved(self.graph), relations=kinds)

    def score(self, out: Tensor, items: Tensor) -> float | None:  # (n, C), (n,)
        """The objective's score of outputs on some items; None where it is not defined."""
        return self.objective.score(out.numpy(), self.y[items].numpy()) if len(items) else None

    def pooled(
        self, loo: float | None, val: float | None, num_train: int | None = None
    ) -> float | None:
        """The score on all labels that judge: the mean of both parts, weighted by their sizes."""
        sizes = len(self.train) if num_train is None else num_train, len(self.val)
        pairs = zip((loo, val), sizes, strict=True)
        defined = [(score, size) for score, size in pairs if score is not None]
        total = sum(score * size for score, size in defined)
        return total / sum(size for _, size in defined) if defined else None

    def is_as_good(self, score: float | None, other: float | None) -> bool:
        """Whether a score is not worse than another one, where both are defined."""
        merit = self.objective.merit
        return score is None or other is None or merit(score) >= merit(other)

    def names_of(self, source: str, count: int) -> list[str]:
        """The names of a block's columns: of x, of the labels or of the structure."""
        if source == "structure":
            names = list(structural_names(self.graph))
        elif source == "labels":
            names = list(self.classes or self.targets)
        else:
            reduced = self.has_coordinates or (self.scaling and self.scaling.V is not None)
            given = range(COMPONENTS if reduced else self.num_features)
            names = [f"component {k}" if reduced else self.name_of_column(k) for k in given]
            names += ["1"]
        if self.kind == "graph":  # sums over a graph, then means
            names = [f"{how} of {name}" for how in ("sum", "mean") for name in names]
        return names[:count] if len(names) >= count else [str(k) for k in range(count)]

    def name_of_column(self, number: int) -> str:
        """What the user calls a column of the features, or its number."""
        return f"column {number}" if self.columns is None else self.columns[number]


def one_hot(x: Tensor, categories: tuple[int, ...]) -> Tensor:
    """Integer features as columns of 0 and 1."""
    columns = [torch.nn.functional.one_hot(x[:, c], size) for c, size in enumerate(categories)]
    return torch.cat(columns, dim=1).float()


def task_in_memory(
    data: Any,
    x: Any,
    y: Any,
    parts: dict[str, Any],
    objective: str | None = None,
    positive: object = None,
) -> Task:
    """The task of one graph whose nodes have classes or numbers; nothing is split at random.

    PyG's data may bring x, y and masks. By default every label that is in no other part trains.
    """
    from pgso.data.pyg import answers_of, indices_of  # imports PyG, which saved models do not need

    x = getattr(data, "x", None) if x is None else x
    y = getattr(data, "y", None) if y is None else y
    if y is None:
        raise InputError("find needs labels; give y, one per node, with -1 where it is unknown")
    answers = answers_of(y, of_numbers(objective))["y"]
    has_answer = answers >= 0 if answers.ndim == 1 else np.isfinite(answers).any(axis=1)
    if not has_answer.any():
        raise InputError("y holds no label that is known; give some nodes a class or a number")
    n = len(answers)
    chosen: dict[str, Any] = {name: indices_of(p, name, n) for name, p in parts.items()}
    given = np.concatenate(list(chosen.values()))
    if parts["train"] is None and getattr(data, "train_mask", None) is not None:
        for name in parts:
            if parts[name] is None:  # the data's own, without what was given another use
                masked = indices_of(getattr(data, f"{name}_mask", None), name, n)
                chosen[name] = np.setdiff1d(masked, given)
    elif parts["train"] is None:
        chosen["train"] = np.setdiff1d(np.flatnonzero(has_answer), given)
    relations = data if isinstance(data, Relations) else None
    graph = data if relations is None else relations.union
    task = Task.of(graph, x, y, **chosen, objective=objective)  # a frame is prepared on training
    if task.num_features == 0:
        raise InputError("x has no columns; leave x out if the nodes have no features")
    return replace(
        task,
        metric=task.metric if objective or task.answer != "value" else "r2",
        graph=read_graph(graph, n),
        relations=relations,
        y=torch.from_numpy(answers) if task.targets else task.y,  # in all their digits
    ).scored_by(None, positive)


@dataclass(frozen=True, eq=False)
class Readout:
    """From what ridge regression says to what the objective reads.

    Where the objective counts every class the same, a class is likely if its value is above its
    share of the labels. Otherwise the logits of a value that is its class's share are the
    logarithms of the shares, so that less shrinkage alone is no evidence where classes are rare.
    """

    factor: float  # of classes
    centre: Tensor | None  # (C,) the classes' shares
    prior: Tensor | None  # (C,) their logits
    scale: Scale | None  # of numbers

    @classmethod
    def of(cls, problem: Problem, loo: Tensor | None = None) -> "Readout":
        """With the factor of class scores whose softmax has the smallest leave-one-out log loss.

        The squared error rewards an operator for being shrunk less; a calibrated log loss only
        rewards what it knows. The factor 0 is a guess, so that no rung is worse than guessing. It
        is also the factor where there are no leave-one-out predictions to choose it by.
        """
        if not problem.classes:
            return cls(1.0, None, None, problem.scale)
        # Half a label more for every class: a class without a training label is not impossible.
        counts = problem.Y.sum(dim=0) + 0.5
        prior = (counts / counts.sum()).log()
        if problem.answer == "labels":
            prior = (counts / (len(problem.Y) + 1)).logit()
        if problem.class_weight is not None:
            prior = torch.zeros_like(prior)
        guess = cls(0.0, problem.Y.mean(dim=0), prior, None)
        if loo is None:
            return guess
        rows = sample(len(loo), ROWS)
        said, y = loo[rows], problem.y[problem.train][rows]
        factor = fit_temperature(
            lambda factor: float(losses(problem, replace(guess, factor=factor)(said), y).mean()),
            TEMPERATURES,
        )
        return replace(guess, factor=factor)

    def __call__(self, values: Tensor) -> Tensor:  # (n, C) -> (n, C), 64 bits
        """Logits, or numbers."""
        values = values.double()
        if self.scale is not None:
            return self.scale.decode(values)
        assert self.centre is not None
        assert self.prior is not None
        return self.prior + self.factor * (values - self.centre)


def losses(problem: Problem, out: Tensor, y: Tensor) -> Tensor:  # (n, C), true values -> (n,)
    """The loss of every item: log loss of classes or labels, the objective's errors of numbers."""
    if problem.answer == "class":
        return cross_entropy(out, y, problem.class_weight, reduction="none")
    if problem.answer == "labels":
        known = y.isfinite()
        each = binary_cross_entropy_with_logits(out, y.nan_to_num().double(), reduction="none")
        return (each * known).sum(dim=1) / known.sum(dim=1).clamp(min=1)
    return torch.from_numpy(problem.objective.errors(out.numpy(), y.numpy()))


class Said(NamedTuple):
    """What a fit says of every label that judges, by fits that did not see it."""

    losses: Tensor  # (n,)
    values: Tensor | None  # (n, T) of numbers

    @classmethod
    def of(cls, problem: Problem, train: Tensor, val: Tensor) -> "Said":
        """What leave-one-out predictions, and those of validation labels, are worth.

        A label that is left out moves the mean of the others, which ranks would see: values have
        the mean of all.
        """
        out, values = torch.cat([train, val]), None
        if not problem.classes:
            own = problem.y[problem.train].double()
            values = torch.cat([train + (own - own.mean(dim=0)) / max(len(own) - 1, 1), val])
        return cls(losses(problem, out, problem.y[problem.judges]), values)


def evidence_of(
    problem: Problem,
    incumbent: Said,
    challengers: Sequence[Said],
    judges: Tensor | slice = slice(None),  # a mask of the labels that judge
) -> list[Evidence]:
    """The evidence of challengers against the incumbent: by the mean of their losses.

    Of numbers, ranks judge beside means: where a few hubs have errors as large as all others
    together, a mean says nothing. The incumbent's errors are correlated by rank (Spearman) with the
    change that a challenger makes; one that knows nothing has a correlation of 0, or less, whatever
    the tails. Each test has half of the risk. Ranks see the smallest change, so that they count
    only where the loss gains what a reader would call a gain.
    """
    incumbent, *challengers = [
        Said(one.losses[judges], None if one.values is None else one.values[judges])
        for one in (incumbent, *challengers)
    ]
    by_mean = challenge(incumbent.losses, torch.stack([one.losses for one in challengers]))
    if incumbent.values is None:
        return by_mean
    y = problem.y[problem.judges][judges].double()
    errors = _ranks(y - incumbent.values)
    values = [one.values for one in challengers if one.values is not None]
    changes = [_ranks(value - incumbent.values) for value in values]
    products = torch.stack([(errors * change).nan_to_num().mean(dim=1) for change in changes])
    # Two training labels predict each other, so that their product stands here twice: under chance
    # the sum varies twice as much as one of independent products. Its t-value is divided by √2.
    products = products - (1 - 0.5**0.5) * products.mean(dim=1, keepdim=True)
    by_rank = challenge(torch.zeros_like(products[0]), -products)
    least = LEAST_GAIN * float(incumbent.losses.mean())
    return [
        replace(mean, p=min(1.0, 2 * (min(mean.p, rank.p) if mean.gain > least else mean.p)))
        for mean, rank in zip(by_mean, by_rank, strict=True)
    ]


def _ranks(values: Tensor) -> Tensor:  # (n, T)
    """The ranks of each column, of mean 0 and variance 1; equal values share theirs."""
    ranks = torch.from_numpy(pandas.DataFrame(values.numpy()).rank().to_numpy(copy=True))
    centred = ranks - ranks.nanmean(dim=0)
    return centred / centred.square().nanmean(dim=0).sqrt().clamp(min=1e-12)


def folds_of(items: Tensor) -> list[Array]:
    """Five parts of the places of items, the same ones in whatever order the items are."""
    ranks = items.argsort().argsort().numpy()
    fold = np.random.default_rng(0).permutation(len(ranks))[ranks] % FOLDS
    return [np.flatnonzero(fold == k) for k in range(FOLDS)]
