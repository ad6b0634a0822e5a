"""Runs as they went: scores, learned operators, curves, evaluation; and comparisons of them."""

import math
from collections.abc import Iterable
from html import escape
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NotRequired

import numpy as np
from pydantic import ValidationInfo, field_validator
from typing_extensions import TypedDict  # pydantic needs it before 3.12

from pgso.objectives import Objective
from pgso.records.data import BaselineRecord
from pgso.records.files import as_text, write_atomically
from pgso.records.finding import FindingRecord
from pgso.records.numerics import UNSAID, Frozen, Scored
from pgso.records.spec import SevenNumbers, StoredSpec

if TYPE_CHECKING:
    import pandas

Array = np.ndarray[Any, Any]
DIGITS = 5
LETTERS = ("m1", "m2", "m3", "e1", "e2", "e3", "a")
COMPARISON_FILE = "comparison.json"


class Judged(Frozen):
    """Outcomes of the labels that judge: of no epoch, S or candidate that was chosen on them."""

    items: tuple[int, ...]  # indices of nodes, graphs or pairs
    outcomes: tuple[float, ...] = ()  # 1 and 0 for right and wrong, or minus the error
    outputs: tuple[tuple[float, ...], ...] = ()  # where the score is not a mean over labels
    answers: tuple[Any, ...] = ()  # the truth beside them

    @classmethod
    def of(cls, objective: Objective, items: Array, out: Array, y: Array) -> "Judged":
        """What outputs (n, C) say about items (n,) whose truth is y."""
        names = tuple(int(item) for item in items)
        if objective.has_positive and objective.positive == 0:  # written as the second class
            out, y = out[:, ::-1], 1 - y
        if objective.evidence == "bootstrap":
            rows = np.asarray(out, dtype=np.float64).round(DIGITS).reshape(len(out), -1)
            outputs = tuple(map(tuple, rows.tolist()))
            return cls(items=names, outputs=outputs, answers=tuple(np.asarray(y).tolist()))
        errors = np.asarray(objective.errors(out, y), np.float64)
        values = 1 - errors if objective.evidence == "sign" else -errors
        return cls(items=names, outcomes=tuple(values.round(6).tolist()))


Curve = tuple[float, ...]


class Confusion(Frozen):
    """Counts of true classes (rows) by predicted classes (columns)."""

    classes: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]


class Bin(NamedTuple):
    """Predictions of similar confidence: sums over them, so that seeds can be added up."""

    size: int
    confidence: float
    right: int


class Calibration(Frozen):
    """Do probabilities mean what they say? With a temperature fitted on validation."""

    temperature: float  # logits are divided by it
    error_before: float  # the expected calibration error, a fraction
    error_after: float
    before: tuple[Bin, ...]  # ten of equal width, from 0 to 1
    after: tuple[Bin, ...]


class Threshold(Frozen):
    """Whom to flag, by the calibrated probability, and what comes of it."""

    cost: float  # of a miss, in false alarms
    threshold: float  # flag where the probability is larger
    flagged: float  # the share of all examples
    recall: float
    precision: float | None  # None: nobody is flagged


class Detection(Frozen):
    """One class against the other, or the mean over all; curves on equal grids, to be averaged."""

    positive: str  # the class that is detected
    share: float  # of it among the examples
    recall: Curve  # at false positive rates 0, 0.02, ..., 1 (ROC)
    precision: Curve  # at recalls 0, 0.02, ..., 1
    lift: Curve = ()  # of the 0.02, 0.04, ..., 1 of the examples with the highest scores
    costs: tuple[Threshold, ...] = ()  # of two classes


class LabelScore(Frozen):
    """One of several labels: how frequent it is, and how well it is told from its absence."""

    label: str
    positives: int
    examples: int  # of which it is known
    roc_auc: float | None  # None where all or none have it
    average_precision: float | None


class Scatter(Frozen):
    """Some predictions of numbers, beside the truth."""

    target: str
    truth: Curve
    predicted: Curve


class Evaluation(Frozen):
    """What a model says about the test set, or about validation where there is none."""

    part: str  # test or val
    examples: int
    confusion: Confusion | None = None
    calibration: Calibration | None = None
    detection: Detection | None = None
    labels: tuple[LabelScore, ...] = ()  # of several labels each
    scatter: tuple[Scatter, ...] = ()
    coverage: dict[str, float] | None = None  # of 90 % sets: asked, held on test, labels, size
    sketched: tuple[str | float | None, ...] = ()  # predictions of the nodes of the data's sketch


class FeatureImportance(Frozen):
    """How much worse the validation score gets when a column is shuffled among the nodes."""

    name: str
    loss: float  # of the score, in its own unit; positive: the column matters
    low: float  # 95 % interval of the loss in one more shuffle, Holm's for several columns
    high: float
    p: float | None = None  # that noise gets this much, Holm-corrected; None: an older record
    matters: bool | None = None


class EdgeImportance(Frozen):
    """How much an edge adds to the predictions: 1 is the edge that adds most."""

    source: str
    target: str
    importance: float


class Explanation(Frozen):
    """What matters, and how it was found out."""

    score: float | None  # on validation, with nothing shuffled
    repeats: int  # shuffles of every column
    features: tuple[FeatureImportance, ...] = ()  # the most important first
    left_out: int = 0  # columns that were not shuffled, since their gradients are small
    relations: tuple[FeatureImportance, ...] = ()  # kinds of edges, moved to other nodes
    items: str = ""  # whose predictions the edges are for
    edges: tuple[EdgeImportance, ...] = ()
    notes: tuple[str, ...] = ()  # what could not be said, and why


class Density(TypedDict):
    """A spectral density on a grid; along a run, which epoch's and operator's, counted from 0."""

    grid: list[float]
    density: list[float]
    epoch: NotRequired[int]
    operator: NotRequired[int]


class Subgraph(TypedDict):
    """A few nodes to show the operator's entries on; at most 40."""

    adjacency: list[list[float]]
    degree: list[float]  # in the whole graph, without a


class Spectra(TypedDict, total=False):
    """Everything about one run; every part may be missing."""

    start: list[Density]  # one per operator, before training
    learned: list[Density]  # one per operator, at the chosen epoch
    by_epoch: list[Density]
    subgraph: Subgraph


def without_spectra(records: "Iterable[RunRecord]") -> "list[RunRecord]":
    """Runs of the first seed that a page would show spectra of (not of means), and has none yet."""
    finished = [run for run in records if run.status == "done" and run.spec.shape == "scalar"]
    first = min((run.spec.seed for run in finished), default=0)
    return [run for run in finished if run.spec.seed == first and run.spectra is None]


class RunRecord(Scored):
    """What a run leaves behind. The epoch is chosen on validation; test is only recorded."""

    spec: StoredSpec
    status: Literal["done", "diverged", "failed"] = "done"
    error: str | None = None  # why it failed or where it diverged
    metric: str = "accuracy"  # the objective's name, which says how a score is read
    val: float | None = None  # at the chosen epoch; a fraction, or in the unit of the targets
    test: float | None = None
    epoch: int | None = None  # the chosen one, counted from 0
    chosen: str | None = None  # the mode of the network that was kept, where there was a choice
    rung: str | None = None  # the rung of pgso.find whose network it is
    network: dict[str, Any] = {}  # what that rung changed in the spec
    closed_form: tuple[float | None, float | None] | None = None  # that rung untrained: val, test
    ladder: int | None = None  # the revision of the ladder that proposed networks
    judged: Judged | None = None  # what the labels that judge say, where the spec asks for it
    confidence: dict[str, float] = {}  # that each challenger beats the one before it
    start: tuple[SevenNumbers, ...] = ()  # S of every operator before training
    parameters: tuple[SevenNumbers, ...] = ()  # S of every operator at the chosen epoch
    nearest: tuple[tuple[str, float], ...] = ()  # the most similar preset and how far it is
    start_interval: tuple[tuple[float, float], ...] = ()  # certified, of each; () if it is not
    spectra: Spectra | None = None  # what a page shows of the operators, where it was computed
    evaluation: Evaluation | None = None  # at the chosen epoch: how it is right and wrong
    explanation: Explanation | None = None  # what matters, where pgso explain was asked
    finding: FindingRecord | None = None  # of a closed-form head
    curves: dict[str, list[Any]] = {}  # per epoch: loss, train, val, test, parameters, interval
    data: str | None = None  # the state of a user's own files, see records/files.py
    versions: dict[str, str] = {}
    timing: dict[str, float] = {}  # seconds, peak_memory_mib: all that may differ between reruns

    @field_validator("val", "test")
    @classmethod
    def _score_of_a_file(cls, score: float | None, info: ValidationInfo) -> float | None:
        """Refuse NaN in a file: a page would show it as a result. An error may be infinite."""
        if info.mode == "json" and score is not None and math.isnan(score):
            raise ValueError("NaN is no score")
        return score

    @property
    def ladder_revision(self) -> int | None:
        """The revision of the ladder, where it was climbed or asked for networks."""
        if self.finding is not None:
            return self.finding.ladder
        if not self.spec.climbs or self.status == "failed":
            return None
        return UNSAID if self.ladder is None else self.ladder

    @property
    def merit(self) -> float:
        """The validation score, turned so that larger is better; below any without a score."""
        return self.objective.merit(self.val)

    def __repr__(self) -> str:
        """One line: curves would fill pages."""
        spec, score = self.spec, "no score"
        if self.test is not None or self.val is not None:
            part = "val" if self.test is None else "test"
            score = f"{part} {self.metric} {getattr(self, part):.4g}"
        ending = "" if self.status == "done" else f", {self.status}"
        made = f"{spec.dataset}, {spec.conv}, {spec.operator}, seed {spec.seed}"
        return f"RunRecord({made}: {score}{ending})"

    __str__ = __repr__

    def to_frame(self) -> "pandas.DataFrame":
        """One row per epoch: loss, scores, and S of every operator in columns of its own."""
        import pandas

        columns = {name: curve for name, curve in self.curves.items() if np.ndim(curve) == 1}
        S = np.array(self.curves.get("parameters") or np.empty((0, 0, 7)))  # (epochs, operators, 7)
        for k in range(S.shape[1]):
            ending = "" if S.shape[1] == 1 else f" of operator {k + 1}"
            columns |= {f"{name}{ending}": list(S[:, k, i]) for i, name in enumerate(LETTERS)}
        shown = {name: pandas.Series(values) for name, values in columns.items() if values}
        return pandas.DataFrame(shown).rename_axis("epoch")

    def _repr_html_(self) -> str:
        rows = {"validation": self.val, "test": self.test, "epoch": self.epoch}
        cells = [(name, "-" if value is None else f"{value:.6g}") for name, value in rows.items()]
        cells += [("S", ", ".join(f"{value:.4g}" for value in S)) for S in self.parameters[:8]]
        table = "".join(f"<tr><th>{name}</th><td>{text}</td></tr>" for name, text in cells)
        return f"<b>{escape(repr(self))}</b><table>{table}</table>"

    def report(self, path: str | Path, task: Any = None) -> Path:
        """Write the page of this run to a file; it works offline.

        With the :class:`pgso.Task` that it ran on, the page has the data, baselines and the graph.
        """
        # Pages are made of records, so they are found by name here, as pgso's public names are.
        pages, data = import_module("pgso.report.page"), []
        if task is not None:
            data = [import_module("pgso.evaluation.baselines").data_record(self.spec, task=task)]
        write_atomically(Path(path), pages.as_html(pages.run_page(self, data)))
        return Path(path)

    def without_times(self) -> dict[str, Any]:
        """Everything that must be the same when the same spec is run again on one machine."""
        each = {"__all__": {"seconds"}}
        times: Any = {"seconds": True, "rungs": each, "heads": each}
        return self.model_dump(mode="json", exclude={"timing": True, "finding": times})


class ComparisonRecord(Scored):
    """What ``compare`` leaves behind: enough to list it, and to make its page from its runs."""

    of, remedy = "a comparison", "; make one with pgso compare"
    dataset: str
    conv: str
    command: str | None = None  # what the user typed
    runs: tuple[str, ...]  # keys of records
    reference: tuple[str, ...] = ()  # of the stronger fixed network
    verdict: str
    next: str = ""  # the command that follows from it
    found: dict[str, Any] | None = None  # what find recommends: rung, S, network, head, command
    doubts: tuple[str, ...] = ()  # what speaks against the result
    baselines: tuple[BaselineRecord, ...] = ()  # what a network must beat: means over the seeds
    scores: dict[str, Any] = {}  # test and val: scores by operator, and paired differences

    def write(self, folder: Path) -> None:
        """Save it, whole or not at all; a file that says the same keeps its time."""
        text, path = as_text(self), folder / COMPARISON_FILE
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            write_atomically(path, text)


read_comparison = ComparisonRecord.read
