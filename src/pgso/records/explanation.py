"""What matters to a model: its columns and its edges."""

from pydantic import BaseModel, ConfigDict


class FeatureImportance(BaseModel):
    """How much worse the validation score gets when a column is shuffled among the nodes."""

    model_config = ConfigDict(frozen=True)

    name: str
    loss: float  # of the score, in its own unit; positive: the column matters
    low: float  # 95 % interval of the loss in one more shuffle, Holm's for several columns
    high: float
    p: float | None = None  # that noise gets this much, Holm-corrected; None: an older record
    matters: bool | None = None


class EdgeImportance(BaseModel):
    """How much an edge adds to the predictions: 1 is the edge that adds most."""

    model_config = ConfigDict(frozen=True)

    source: str
    target: str
    importance: float


class Explanation(BaseModel):
    """What matters, and how it was found out."""

    model_config = ConfigDict(frozen=True)

    score: float | None  # on validation, with nothing shuffled
    repeats: int  # shuffles of every column
    features: tuple[FeatureImportance, ...] = ()  # the most important first
    left_out: int = 0  # columns that were not shuffled, since their gradients are small
    relations: tuple[FeatureImportance, ...] = ()  # kinds of edges, moved to other nodes
    items: str = ""  # whose predictions the edges are for
    edges: tuple[EdgeImportance, ...] = ()
    notes: tuple[str, ...] = ()  # what could not be said, and why
