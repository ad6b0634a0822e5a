"""``find``: which operator does this graph want? In closed form, in seconds, with evidence."""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from pgso.data import DATASETS, Task, load_task
from pgso.data.inputs import as_tensor, read_features, read_graph
from pgso.drawing import plot_ladder
from pgso.errors import InputError, UnknownNameError
from pgso.finding.heads import HEADS, Head, heads_of
from pgso.finding.ladder import Fitted, Ladder
from pgso.finding.predictor import FORM, ClosedForm, Form, calibration
from pgso.finding.problem import Problem, task_in_memory
from pgso.finding.summary import record_of
from pgso.graph import Relations
from pgso.records import RunSpec
from pgso.records.files import write_atomically
from pgso.records.finding import FindingRecord, RungRecord
from pgso.saved import header_of, write_model

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class Finding:
    """Which operator a graph wants, and how sure we are."""

    record: FindingRecord  # everything there is to know, as data: record.write(path) saves it
    task: Task  # the data that were searched
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

        ``best.head`` is ``"ridge"`` (its closed form), ``"blend"`` (weights over rungs) or
        ``"boosted"`` (trees on top). Its own linear scores are in :attr:`rungs`.
        """
        return self.record.kept

    def predict(self, graph: Any = None, x: Any = None) -> Tensor:  # (items, C)
        """Class probabilities, or values, of every node or graph.

        Of the graph that was searched, or of another one's nodes, with ``x`` of the same columns.
        """
        problem, out = self._ladder.problem, self._head.out
        if graph is not None or x is not None:
            if graph is None or x is None:
                raise InputError("another graph comes with its own x; give both or neither")
            if problem.kind == "graph":
                raise InputError("predict other graphs with pgso.load after found.save")
            features = as_tensor(read_features(x))
            edges = graph if isinstance(graph, Relations) else read_graph(graph, features.size(0))
            with torch.no_grad():
                out = self.head()(features, edges)
        if problem.scale is not None:
            return out if problem.scale.needs_64_bits else out.float()
        return (out.softmax(dim=1) if problem.answer == "class" else out.sigmoid()).float()

    def head(self) -> ClosedForm:
        """What predicts as a module, called as a network is: ``head(x, graph)``."""
        return ClosedForm(Form.of(self._ladder, self._head))

    def save(self, path: str | os.PathLike[str], remember: bool = True) -> Path:
        """Write what predicts to a folder of safetensors and JSON; :func:`pgso.load` reads it.

        A model that is there already is kept under another name. With ``remember`` the graph is
        written too, so that new nodes may have edges to old ones.
        """
        problem, record, task = self._ladder.problem, self.record, self.task
        if problem.answer == "labels":
            raise InputError("several labels each cannot be saved; save a network instead")
        form, memory = Form.of(self._ladder, self._head), task if remember else None
        words = {word for part in form.parts for word in part.words}
        words |= set() if form.table is None else set(form.table.words)
        needs_labels = any(word.of.startswith("labels") for word in words)
        header = header_of(task, record.spec, *calibration(problem, self._head), memory)
        said = {"rung": record.best, "head": record.head, "verdict": record.verdict}
        header |= {
            "form": "closed form",
            "head": FORM.dump_python(form),
            "labels": [problem.train, problem.Y] if needs_labels else None,
            "found": {**said, "val": record.kept.val, "test": record.kept.test},
        }
        write_model(path, header)
        return Path(path)

    def refit(self) -> "Finding":
        """The same rung and head, fitted to training and validation labels, for use.

        Nothing is left that could judge it, so its scores of validation and test are None.
        """
        problem = self._ladder.problem
        known = problem.judges
        if problem.answer == "value":  # what lacks one of several numbers does not train
            known = known[problem.y[known].isfinite().all(dim=1)]
        ladder = Ladder(replace(problem, train=known, val=problem.val[:0]))
        names = dict.fromkeys([self.record.best, *self._head.weights])
        again = [self._ladder.fitted[name] for name in names if name != "trees"]
        ladder.add(replace(fitted.rung, words=fitted.words) for fitted in again)
        with torch.no_grad():
            best = ladder.fitted[self.record.best]
            head, _ = heads_of(ladder, best, self._head.name)
        sides = {"rungs": self.record.rungs, "heads": self.record.heads}
        unknown = {"val": None, "test": None}
        parts = {k: tuple(s.model_copy(update=unknown) for s in side) for k, side in sides.items()}
        return Finding(self.record.model_copy(update=parts), self.task, ladder, best, head)

    def columns(self) -> "pandas.DataFrame":
        """The columns of the kept rung, one row per node or graph: for CatBoost and others."""
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
        from pgso.evaluation.baselines import data_record
        from pgso.report.finding import finding_page
        from pgso.report.sections import as_html

        spec = RunSpec(dataset=self.record.dataset, seed=self.record.seed)
        described = data_record(spec, task=self.task, drawn=False)
        page = finding_page(self.record.model_copy(update={"data": described}))
        write_atomically(Path(path), as_html(page))
        return Path(path)

    def _repr_html_(self) -> str:
        return self.record._repr_html_()

    def __repr__(self) -> str:
        best, label = self.best, self.record.objective.label
        test = "" if best.test is None else f", test {label} {best.test:.3f}"
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
    weights per term, both directions of a directed graph, and a learned S. Simple ones are kept
    unless training labels that are left out and validation labels say otherwise; a wrong climb
    happens in at most 5 %.

    Args:
        data: A dataset's name, a path of the user's own data, a :class:`Task`, or a graph as
            :meth:`pgso.Graph.of` takes it, with ``x`` and ``y``.
        x: Features of a graph's nodes, dense or sparse; None for the identity.
        y: A class per node (-1, None, NaN: unknown), or numbers, one or several columns of them.
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
    if head not in HEADS:
        raise UnknownNameError("head", head, HEADS)
    is_path = isinstance(data, str | os.PathLike)
    if options and not is_path:
        raise InputError(f"find has no option {next(iter(options))!r} for data in memory")
    from pgso.data.pyg import is_collection  # imports PyG, which saved models do not need

    is_task = is_path or isinstance(data, Task) or is_collection(data)
    parts = {"train": train, "val": val, "test": test}
    chosen: dict[str, Any] = {"objective": objective, "positive": positive}
    is_alone = all(part is None for part in (x, y, train, val, test))
    if is_path and is_alone:
        task = load_task(data, root, seed, **chosen, **options)
    elif is_task:  # what stands beside it is refused
        task = Task.of(data, x, y, **parts, seed=seed, **chosen)
    else:
        task = task_in_memory(data, x, y, parts, **chosen)
    if head == "boosted" and task.answer == "labels":
        raise InputError("no trees are grown for several labels each; ask for ridge or blend")
    ladder = Ladder(Problem.prepared(task), tell or (lambda name: None))
    best = ladder.climb()
    with torch.no_grad():
        kept, heads = heads_of(ladder, best, head)
    wanted = {
        "dataset": os.fspath(data) if is_path else task.name,
        "seed": seed,
        "objective": None if objective is None else task.metric,
        "data_options": options if positive is None else {**options, "positive": positive},
    }
    known = is_path or task.name in DATASETS
    record = record_of(ladder, best, kept, heads, wanted, task if is_task else None, known, start)
    return Finding(record, task, ladder, best, kept)
