"""What is known about the data of some runs, and what a model must beat on them."""

from pgso.records.numerics import Frozen, Scored
from pgso.records.spec import RunSpec, StoredSpec

GUESS, FEATURES, GRAPH = "guess", "features", "graph"  # names of baselines
BOOSTED, BOOSTED_GRAPH = "boosted", "boosted_graph"  # trees on the columns, and neighbours' means
FINGERPRINTS = "fingerprints"  # a random forest on the surroundings of a molecule's atoms


class BaselineRecord(Frozen):
    """A model that a network should be better than."""

    name: str  # guess, features, graph, boosted, boosted_graph or fingerprints
    label: str  # for tables
    val: float | None
    test: float | None


class ClassCount(Frozen):
    """A class or label, and how many examples each part of the split has of it."""

    name: str
    train: int
    val: int
    test: int


class TargetRange(Frozen):
    """A number that is predicted, over all examples where it is known."""

    name: str
    known: int
    low: float
    mean: float
    high: float


class FeatureColumn(Frozen):
    """A column of the user's table."""

    name: str
    kind: str
    missing: int  # cells without a value
    became: str  # what was made of it


Cell = str | float | None  # a class or word, a number, or unknown


class Sketch(Frozen):
    """Some nodes of a graph, placed in the plane, as a page draws them: see pgso.drawing."""

    nodes: tuple[int, ...]  # their numbers
    names: tuple[str, ...] = ()  # what the user calls them; empty: their numbers
    x: tuple[int, ...]  # from 0 to 1000
    y: tuple[int, ...]
    edges: tuple[tuple[int, int], ...]  # positions in nodes, each pair once
    num_nodes: int  # of the whole graph
    degree: tuple[float, ...] = ()  # in the whole graph, weighted; empty: not known
    weights: tuple[tuple[int, int, float], ...] = ()  # target, source, A; empty: 1 both ways
    colours: dict[str, tuple[Cell, ...]] = {}  # values of the nodes: label, split, prediction

    def called(self, position: int) -> str:
        """The name of a node."""
        return self.names[position] if self.names else f"node {self.nodes[position]}"


class DataRecord(Scored):
    """One dataset with one split: counts, and the scores of models that a network must beat."""

    of = "data"
    spec: StoredSpec  # only what chooses the data differs from defaults, see :func:`data_spec`
    data: str | None = None  # the state of a user's own files
    kind: str  # node, graph or link
    answer: str  # class, labels, value or link
    num_graphs: int
    num_nodes: int
    num_edges: int  # directed, as stored
    is_directed: bool
    is_weighted: bool
    relations: dict[str, int] = {}  # edges by their kind, where they have kinds
    degree_min: float
    degree_median: float
    degree_mean: float
    degree_max: float
    isolated: int
    components: int
    largest_component: int
    num_items: int  # nodes, graphs or links that have, or could have, an answer
    num_labelled: int
    num_train: int
    num_val: int
    num_test: int
    classes: tuple[ClassCount, ...] = ()
    targets: tuple[TargetRange, ...] = ()
    adjusted_homophily: float | None = None  # None: not classes of nodes, or one class only
    num_features: int
    features: str  # what they are, in words
    largest_feature: float = 0.0  # the largest absolute value of x
    columns: tuple[FeatureColumn, ...] = ()  # of a user's table
    baselines: tuple[BaselineRecord, ...] = ()
    sketch: Sketch | None = None  # some nodes as a page draws them; None: too many edges

    def baseline(self, name: str) -> BaselineRecord | None:
        """A baseline by its name, if the task has it."""
        return next((entry for entry in self.baselines if entry.name == name), None)


def data_spec(spec: RunSpec) -> RunSpec:
    """The choices of a spec that choose its data; all others are defaults."""
    names = {"dataset", "seed", "data_options", "task", "objective"}
    return RunSpec(complete=True, **spec.model_dump(include=names))
