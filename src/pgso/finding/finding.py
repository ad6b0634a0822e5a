"""``find``: which operator does this graph want? In closed form, in seconds, with evidence."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

import pgso
from pgso.data import DATASETS, Task, load_task
from pgso.data.inputs import as_tensor, read_features, read_graph
from pgso.data.task import IN_MEMORY
from pgso.drawing import plot_ladder
from pgso.errors import InputError
from pgso.finding.advice import code_of, command_of, spec_of
from pgso.finding.heads import Head, heads_of
from pgso.finding.ladder import Fitted, Ladder
from pgso.finding.predictor import ClosedForm, calibration, save_finding
from pgso.finding.problem import Problem, problem_from
from pgso.finding.rungs import GCN, NO_GRAPH
from pgso.finding.scores import probabilities
from pgso.finding.summary import (
    graph_statistics,
    sketch_with_predictions,
    some_predictions,
    spectrum_of,
)
from pgso.finding.verdict import (
    leaks_of,
    score_of_guessing,
    signal_of,
    verdict_of,
    with_families,
    with_head,
    with_leaks,
    with_signal,
)
from pgso.records import RunSpec
from pgso.records.files import write_atomically
from pgso.records.finding import FindingRecord, RungRecord

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class Finding:
    """Which operator a graph wants, and how sure we are.

    Attributes:
        record: Everything there is to know, as data: ``record.write(path)`` saves it as JSON.
        task: The data that were searched; None: they came as arrays.
    """

    record: FindingRecord
    task: Task | None
    _ladder: Ladder
    _best: Fitted
    _head: Head

    @property
    def verdict(self) -> str:
        """What the labels follow, and what to use."""
        return self.record.verdict

    @property
    def rungs(self) -> tuple[RungRecord, ...]:
        """Every candidate, in the order in which they were fitted: simple ones first."""
        return self.record.rungs

    @property
    def best(self) -> RungRecord:
        """The rung that is kept, with the scores of what :meth:`predict` returns.

        ``best.head`` says what predicts: ``"ridge"`` (its closed form), ``"blend"`` (weights over
        rungs) or ``"boosted"`` (trees on top). Its own linear scores are in :attr:`rungs`.
        """
        return self.record.kept

    def predict(self, graph: Any = None, x: Any = None) -> Tensor:  # (items, C)
        """Class probabilities, or values, of every node or graph.

        Args:
            graph: Another graph to predict on (node tasks only); by default the one searched.
            x: Its features, with the same columns.
        """
        with torch.no_grad():
            if graph is None and x is None:
                out = self._head.out
            else:
                if graph is None or x is None:
                    raise InputError("another graph comes with its own x; give both or neither")
                if self._ladder.problem.kind == "graph":
                    raise InputError("predict other graphs with pgso.load after found.save")
                features = as_tensor(read_features(x))
                out = self.head()(features, read_graph(graph, features.size(0)))
            scale = self._ladder.problem.scale
            if scale is not None:
                return out if scale.needs_64_bits else out.float()
            return probabilities(self._ladder.problem, out).float()

    def head(self) -> ClosedForm:
        """What predicts as a module: ``head(x, graph)``, of several graphs with their sizes."""
        return ClosedForm.of(self._ladder, self._head)

    def save(self, path: str | os.PathLike[str], remember: bool = True) -> Path:
        """Write what predicts to a folder of safetensors and JSON; :func:`pgso.load` reads it.

        Args:
            path: The folder. A model that is there already is kept under another name.
            remember: Whether to write the graph, so that new nodes may have edges to old ones.
        """
        save_finding(self, path, remember)
        return Path(path)

    def refit(self) -> "Finding":
        """The same rung and head, fitted to training and validation labels together.

        For use: nothing is left that could judge it, so its scores of validation and test are None.
        """
        problem = self._ladder.problem
        together = torch.cat([problem.train, problem.val])
        ladder = Ladder(replace(problem, train=together, val=problem.val[:0]))
        names = [name for name in self._head.weights if name != "trees"]
        with torch.no_grad():
            for name in dict.fromkeys([self.record.best, *names]):
                fitted = self._ladder.fitted[name]
                ladder.add(replace(fitted.rung, words=fitted.words))
            best = ladder.fitted[self.record.best]
            head, _ = heads_of(ladder, best, self._head.name)
        unknown: dict[str, Any] = {"val": None, "test": None}
        parts = {
            "rungs": tuple(rung.model_copy(update=unknown) for rung in self.record.rungs),
            "heads": tuple(one.model_copy(update=unknown) for one in self.record.heads),
        }
        return Finding(self.record.model_copy(update=parts), self.task, ladder, best, head)

    def columns(self) -> "pandas.DataFrame":
        """The columns that the kept rung is made of, one row per node or graph.

        For CatBoost, LightGBM, TabICL and others. Columns are named by their block.
        """
        import pandas

        problem, blocks = self._ladder.problem, self._ladder.blocks
        frames = []
        for word in self._best.words:
            values = blocks.columns(word).numpy()
            names = problem.names_of(word.of, values.shape[1])
            frames.append(pandas.DataFrame(values, columns=[f"{word}: {name}" for name in names]))
        table = pandas.concat(frames, axis=1)
        return table if problem.ids is None else table.set_axis(list(problem.ids), axis=0)

    def spec(self) -> RunSpec:
        """The run that trains a network with the operator that was found."""
        return RunSpec(**self.record.spec)

    def to_pyg(self) -> str:
        """A few lines of code with a model to train, ready to paste."""
        return self.record.code

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the ladder, best rung on top: matplotlib axes in, axes out."""
        return plot_ladder(self.record, ax)

    def to_frame(self) -> "pandas.DataFrame":
        """One row per rung, the best loss first."""
        return self.record.to_frame()

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write the page of this finding to a file; it works offline."""
        from pgso.report.finding import render_finding

        write_atomically(Path(path), render_finding(self.record))
        return Path(path)

    def _repr_html_(self) -> str:
        return self.record._repr_html_()

    def __repr__(self) -> str:
        best = self.best
        objective = self.record.objective
        test = "" if best.test is None else f", test {objective.label} {best.test:.3f}"
        return f"Finding({self.record.dataset}: {best.name}{test}; {self.record.seconds:.1f} s)"


def find(
    data: Any,
    x: Any = None,
    y: Any = None,
    *,
    train: Any = None,
    val: Any = None,
    test: Any = None,
    root: str | os.PathLike[str] | None = None,
    seed: int = 0,
    objective: str | None = None,
    positive: object = None,
    head: str = "auto",
    tell: Callable[[str], None] | None = None,
    **options: Any,
) -> Finding:
    """Find the operator that a graph wants, by ridge regression on propagated features.

    Candidates (rungs) go from no graph over GCN's own operator and other presets to banks with
    weights per term, both directions of a directed graph, and a learned S. Each is fitted in
    closed form. Simple ones are kept unless the leave-one-out errors of the training labels and
    the errors of the validation labels say otherwise; a wrong climb happens in at most 5 %.

    Args:
        data: A dataset's name, a path of the user's own data, or a :class:`Task`; or a graph
            (:class:`Graph`, :class:`Relations`, edge_index, scipy, networkx, PyG data), with ``x``
            and ``y``.
        x: Features of a graph's nodes, dense or sparse; None for the identity.
        y: A class per node (-1, None, NaN: unknown), or floating-point numbers (NaN: unknown), one
            or several columns of them.
        train: Indices or a mask of labels to learn from; by default all that are in no other part.
        val: Labels that judge only; may be left out.
        test: Labels that are only scored.
        root: Where datasets are; else ``$PGSO_DATA``.
        seed: Of the dataset's split.
        objective: What is scored, a name of ``pgso list objectives``; by default the task's own.
        positive: Of two classes, the one that scores are about; by default the rarer one.
        head: What predicts: ``"ridge"``, ``"blend"``, ``"boosted"``, or ``"auto"`` for the one
            that the evidence keeps.
        tell: Is called with the name of every rung that is about to be fitted.
        options: The dataset's own.

    Example:
        >>> found = find("karate")
        >>> found.best.name, found.spec().conv
        ('gcn, 2 hops', 'gcn')
    """
    start = perf_counter()
    task = None
    is_path = isinstance(data, str | os.PathLike)
    if not is_path and not isinstance(data, Task):
        from pgso.data.pyg import is_collection  # imports PyG, which saved models do not need

        if is_collection(data):
            data = Task.from_data(data, seed)
    if isinstance(data, Task) or is_path:
        _check_alone({"x": x, "y": y, "train": train, "val": val, "test": test})
    if options and not is_path:
        raise InputError(f"find has no option {next(iter(options))!r} for data in memory")
    if isinstance(data, Task):
        task = data.scored_by(objective).with_positive(positive)
    elif is_path:
        task = load_task(data, root, seed, objective=objective, positive=positive, **options)
    if task is not None:
        problem = Problem.of(task)
    else:
        problem = problem_from(data, x, y, train, val, test, objective, positive)
    check_problem(problem)
    ladder = Ladder(problem, tell or (lambda name: None))
    best = ladder.climb()
    with torch.no_grad():
        kept, heads = heads_of(ladder, best, head)
    name = os.fspath(data) if is_path else problem.name
    wanted = {
        "dataset": name,
        "seed": seed,
        "objective": None if objective is None else problem.metric,
        "data_options": options if positive is None else {**options, "positive": positive},
    }
    is_known = is_path or name in DATASETS
    record = _record(ladder, best, kept, heads, wanted, task, is_known, start)
    return Finding(record, task, ladder, best, kept)


def _check_alone(given: dict[str, Any]) -> None:
    """Refuse features, labels and parts beside a task, which has its own."""
    beside = [name for name, value in given.items() if value is not None]
    if beside:
        raise InputError(
            f"a dataset or task has features, labels and a split of its own; leave out "
            f"{' and '.join(beside)}, or give a graph with x and y"
        )


def check_problem(problem: Problem) -> None:
    """Refuse labels that nothing can be learned from."""
    labels = problem.y[problem.train]
    if len(labels) < 3:
        raise InputError(
            f"find needs three training labels or more, got {len(labels)}; label more, or put more "
            "of the labels into train"
        )
    if problem.answer == "class" and len(labels.unique()) < 2:
        raise InputError(
            f"all {len(labels)} training labels of {problem.name} are of one class; "
            "find needs two classes or more"
        )
    if problem.answer != "class" and bool((labels == labels[0]).all()):
        what = "numbers" if problem.answer == "value" else "labels"
        raise InputError(
            f"all {len(labels)} training targets of {problem.name} are equal; find needs {what} "
            "that differ"
        )


def _record(
    ladder: Ladder,
    best: Fitted,
    head: Head,
    heads: Sequence[Head],
    wanted: dict[str, Any],
    task: Task | None,
    is_known: bool,
    start: float,
) -> FindingRecord:
    problem, out = ladder.problem, head.out
    guess = score_of_guessing(problem)
    rungs = tuple(rung_record(fitted, best, problem, guess) for fitted in ladder.fitted.values())
    by_name = {rung.name: rung for rung in rungs}
    best_rung, reference = by_name[best.rung.name], by_name[GCN]
    signal = signal_of(problem, ladder.fitted[NO_GRAPH], best)
    gains = [rung.points for rung in rungs if rung.points is not None and rung is not best_rung]
    statistics, leaks = graph_statistics(problem), leaks_of(problem)
    verdict = verdict_of(
        best_rung,
        reference,
        rungs,
        problem.objective,
        statistics,
        over=ladder.over,
        direction=ladder.direction_matters(best),
    )
    families = ladder.family_shares()
    verdict = with_families(verdict, families, best_rung)
    verdict = with_signal(verdict, signal, problem, best_rung.name, head.name)
    head_records = {one.name: one.record(problem) for one in heads}
    if signal != "neither" or head.name == "boosted":
        verdict = with_head(verdict, head_records[head.name], best_rung, problem)
    is_directed = not problem.graph.is_undirected
    has_parts = bool(problem.val.numel() and problem.test.numel())
    spec = spec_of(best_rung, is_directed, wanted, task)
    can_be_compared = has_parts or wanted["dataset"] == IN_MEMORY  # which compare splits
    return FindingRecord(
        dataset=wanted["dataset"],
        seed=wanted["seed"],
        kind=problem.kind,
        metric=problem.metric,
        positive=problem.objective.positive_name,
        graph=statistics,
        rungs=rungs,
        same_as=ladder.same_as,
        steps=tuple(ladder.steps),
        best=best_rung.name,
        heads=tuple(head_records.values()),
        head=head.name,
        reference=reference.name,
        signal=signal,
        families=families,
        verdict=with_leaks(verdict, leaks),
        leaks=leaks,
        guess=guess,
        headroom=max(gains, default=None),
        judges=len(best.losses),
        spec=spec.model_dump(mode="json"),
        code=code_of(spec, problem, is_known),
        command=command_of(best_rung, is_directed, wanted) if can_be_compared else "",
        predictions=some_predictions(problem, out),
        coverage=calibration(problem, head)[1],
        sketch=sketch_with_predictions(problem, out),
        targets=problem.columns,
        spectrum=spectrum_of(problem, best_rung.S),
        versions={"pgso": pgso.__version__, "torch": torch.__version__},
        seconds=perf_counter() - start,
    )


def rung_record(
    fitted: Fitted, best: Fitted, problem: Problem, guess: float | None = None
) -> RungRecord:
    """A rung as it is written down; ``guess`` is the score below which nothing is lost."""
    of_x = [word.letters for word in fitted.words if word.of == "x"]
    longest = max(of_x, key=len, default=())
    hops = tuple(letter.S for letter in reversed(longest))  # the last letter meets x first
    evidence = fitted.evidence
    score, best_score = fitted.pooled(problem), best.pooled(problem)

    def merit(value: float) -> float:
        """A score below the score of guessing counts as much as guessing."""
        return max(map(problem.objective.merit, (value, guess)))

    return RungRecord(
        name=fitted.rung.name,
        family=fitted.rung.family,
        terms=fitted.terms,
        blocks=tuple(str(word) for word in fitted.words),
        adds=fitted.rung.adds,
        scales=fitted.fit.scales,
        S=hops[0] if hops else None,
        S_per_hop=hops if len(set(hops)) > 1 else (),
        hops=len(hops),
        penalty=fitted.fit.penalty,
        loo_loss=fitted.fit.loss,
        loss=float(fitted.losses.mean()),
        loo=fitted.loo,
        val=fitted.val,
        test=fitted.test,
        points=None if score is None or best_score is None else merit(score) - merit(best_score),
        gain=None if evidence is None else evidence.gain,
        interval=None if evidence is None else evidence.interval,
        p=None if evidence is None else evidence.p,
        seconds=fitted.seconds,
    )
