"""What matters to a model: its columns and its edges."""

from pydantic import BaseModel, ConfigDict


class FeatureImportance(BaseModel):
    """How much worse the validation score gets when a column is shuffled among the nodes."""

    model_config = ConfigDict(frozen=True)

    name: str
    loss: float  # of the score, in its own unit; positive: the column matters
    low: float  # 95 % interval over the shuffles
    high: float


class EdgeImportance(BaseModel):
    """How much of an edge the predictions need: 0 nothing, 1 all of it."""

    model_config = ConfigDict(frozen=True)

    source: str
    target: str
    importance: float  # mean over several fits of the mask
    low: float  # the lowest and the highest of them
    high: float


class Explanation(BaseModel):
    """What matters, and how it was found out."""

    model_config = ConfigDict(frozen=True)

    score: float | None  # on validation, with nothing shuffled
    repeats: int  # shuffles of every column
    features: tuple[FeatureImportance, ...] = ()  # the most important first
    left_out: int = 0  # columns that were not shuffled, since their gradients are small
    relations: tuple[FeatureImportance, ...] = ()  # kinds of edges, moved to other nodes
    items: str = ""  # whose predictions the edges are for
    fits: int = 0  # of the edges' mask
    edges: tuple[EdgeImportance, ...] = ()
    notes: tuple[str, ...] = ()  # what could not be said, and why
