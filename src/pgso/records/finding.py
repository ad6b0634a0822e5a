"""What ``find`` leaves behind: every rung, the one that is kept, and why."""

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import model_validator

from pgso.records.data import DataRecord, Sketch
from pgso.records.files import as_text, write_atomically
from pgso.records.numerics import LADDER, Frozen, Scored
from pgso.records.spec import RunSpec, SevenNumbers

if TYPE_CHECKING:
    import pandas

FINDING_FILE = "finding.json"
QUESTION = {"dataset", "seed", "objective", "data_options"}  # choices that ask something else
SCORES = {"loo", "val", "test"}
FRAME = ("name", "family", "hops", "loss", "loo", "val", "test", "points", "p", "seconds")


class RungRecord(Frozen):
    """One candidate. Scores are fractions, or in the metric's unit."""

    name: str
    family: str  # features, own, presets, banks, moments, directions, relations, learned
    terms: tuple[str, ...]  # the operators with weights of their own: "self", "gcn", "gcn@out"
    blocks: tuple[str, ...]  # what the weights act on: "x", "gcn² x"
    adds: tuple[str, ...] = ()  # what it has beside operators on x: labels, structure
    scales: tuple[float, ...]  # of the blocks
    S: SevenNumbers | None  # of its operators, of the first hop if they differ; None: no graph
    S_per_hop: tuple[SevenNumbers, ...] = ()  # where hops have an S of their own
    hops: int  # the largest number of operators in a block
    penalty: float
    loo_loss: float  # the squared leave-one-out error of the training labels
    loss: float  # the calibrated loss of the labels that judge
    loo: float | None  # scores: leave-one-out, validation, test
    val: float | None
    test: float | None
    points: float | None  # the score on all judging labels, guessing at least, minus the kept one's
    gain: float | None = None  # of the loss, over the rung it challenged
    interval: tuple[float, float] | None = None  # 95 %
    p: float | None = None  # that a challenger looks this much better by chance
    head: str = "ridge"  # whose scores these are: its closed form, a blend of rungs, or trees
    seconds: float


class HeadRecord(Frozen):
    """What predicts: the closed form of the kept rung, a blend of rungs, or trees on top of it."""

    name: str  # ridge, blend or boosted
    weights: dict[str, float]  # of rungs, and of "trees"
    loss: float  # of the labels that judge, by fits that did not see them
    loo: float | None  # scores: of training labels likewise, validation, test
    val: float | None
    test: float | None
    gain: float | None = None  # of the loss, over the closed form
    p: float | None = None  # that it looks this much better by chance
    seconds: float


class GraphStatistics(Frozen):
    """The graph in numbers."""

    num_graphs: int
    num_nodes: int
    num_edges: int  # directed
    is_directed: bool
    degree_median: float
    degree_mean: float
    degree_max: float
    isolated: int
    components: int
    adjusted_homophily: float | None  # of training and validation labels; None: graph task
    num_features: int
    num_labels: int  # that train
    classes: tuple[float, ...]  # the share of each among the training labels


class Prediction(Frozen):
    """One item as the page shows it."""

    item: str  # what the user calls it, or its number
    predicted: tuple[str, ...]  # a class, or numbers
    probability: float | None  # of the class
    truth: tuple[str, ...]  # empty where it is unknown


class Spectrum(Frozen):
    """The density of the eigenvalues of an operator."""

    grid: tuple[float, ...]
    density: tuple[float, ...]


class FindingRecord(Scored):
    """A finding, as JSON."""

    of, remedy = "a finding", "; make one with pgso find"
    ladder: int = LADDER  # its revision
    dataset: str
    seed: int
    kind: str
    graph: GraphStatistics
    rungs: tuple[RungRecord, ...]  # in the order in which they were fitted
    same_as: dict[str, str]  # rungs whose blocks turned out to be equal to another rung's
    steps: tuple[str, ...]  # the rungs that were kept, one after another
    best: str
    heads: tuple[HeadRecord, ...] = ()  # those that were tried
    head: str = "ridge"  # the one that predicts
    reference: str  # GCN's own
    guess: float | None = None  # the score of a guess that looks at nothing, on the same labels
    signal: str | None = None  # what the labels follow: features, graph, both or neither
    families: dict[str, float] = {}  # how often each is chosen where labels are drawn again
    verdict: str
    leaks: tuple[str, ...] = ()  # columns that predict the label alone
    judges: int  # labels that judged
    spec: dict[str, object]
    code: str
    command: str  # empty: the split has no validation or no test set to compare on
    predictions: tuple[Prediction, ...] = ()  # some of the test set, or of the unlabelled
    coverage: dict[str, float] | None = None  # of 90 % sets: asked, held on test, labels, size
    targets: tuple[str, ...] = ()  # the names of the numbers that are predicted
    spectrum: Spectrum | None = None  # of the kept operator; None: no graph, or too large
    versions: dict[str, str] = {}
    seconds: float
    sketch: Sketch | None = None  # some nodes as a page draws them, with predictions
    data: DataRecord | None = None  # counts, and what a model must beat

    @model_validator(mode="after")
    def _has_what_it_names(self) -> "FindingRecord":
        names = {rung.name for rung in self.rungs}
        if not {self.best, self.reference} <= names:
            raise ValueError("best and reference must be among the rungs")
        return self

    @property
    def kept(self) -> RungRecord:
        """The kept rung with the scores of the head that predicts; its own are in ``rungs``."""
        scores = {head.name: head.model_dump(include=SCORES) for head in self.heads}
        said = scores.get(self.head)
        own = next(rung for rung in self.rungs if rung.name == self.best)
        return own if said is None else own.model_copy(update={"head": self.head, **said})

    def asks_the_same(self, spec: RunSpec) -> bool:
        """Whether it is the finding of the data, the split and the objective of a spec."""
        asked = spec.model_dump(mode="json", include=QUESTION)
        return all(self.spec.get(name) == value for name, value in asked.items())

    def rung(self, name: str) -> RungRecord:
        """A rung by its name."""
        return next(rung for rung in self.rungs if rung.name == name)

    def __repr__(self) -> str:
        """One line: all rungs and predictions would fill pages."""
        return f"FindingRecord({self.dataset}: {self.best}, of {len(self.rungs)} rungs)"

    __str__ = __repr__

    def to_frame(self) -> "pandas.DataFrame":
        """One row per rung, the best loss first; ``kept`` marks the one that is kept."""
        import pandas

        rungs = sorted(self.rungs, key=lambda rung: rung.loss)
        frame = pandas.DataFrame([rung.model_dump(include={*FRAME}) for rung in rungs])[[*FRAME]]
        frame.insert(1, "kept", frame["name"] == self.best)
        return frame

    def _repr_html_(self) -> str:
        frame = self.to_frame()[["name", "kept", "loss", "loo", "val", "test"]]
        rungs: str = frame.to_html(index=False, max_rows=10, float_format="{:.4f}".format)
        return f"<p><b>{escape(self.dataset)}</b>: {escape(self.verdict)}</p>{rungs}"

    def write(self, path: str | Path) -> None:
        """Save as JSON, whole or not at all."""
        write_atomically(Path(path), as_text(self))


read_finding = FindingRecord.read
