"""How a model is right and wrong at its chosen epoch: counts and curves that a page draws."""

from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

Curve = tuple[float, ...]


class Confusion(BaseModel):
    """Counts of true classes (rows) by predicted classes (columns)."""

    model_config = ConfigDict(frozen=True)

    classes: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]


class Bin(NamedTuple):
    """Predictions of similar confidence: sums over them, so that seeds can be added up."""

    size: int
    confidence: float
    right: int


class Calibration(BaseModel):
    """Do probabilities mean what they say? With a temperature fitted on validation."""

    model_config = ConfigDict(frozen=True)

    temperature: float  # logits are divided by it
    error_before: float  # the expected calibration error, a fraction
    error_after: float
    before: tuple[Bin, ...]  # ten of equal width, from 0 to 1
    after: tuple[Bin, ...]


class Detection(BaseModel):
    """One class against the other, or the mean over classes or labels, each against the rest.

    Curves are on equal grids, so that seeds can be averaged.
    """

    model_config = ConfigDict(frozen=True)

    positive: str  # the class that is detected
    share: float  # of it among the examples
    recall: Curve  # at false positive rates 0, 0.02, ..., 1 (ROC)
    precision: Curve  # at recalls 0, 0.02, ..., 1


class LabelScore(BaseModel):
    """One of several labels: how frequent it is, and how well it is told from its absence."""

    model_config = ConfigDict(frozen=True)

    label: str
    positives: int
    examples: int  # of which it is known
    roc_auc: float | None  # None where all or none have it
    average_precision: float | None


class Scatter(BaseModel):
    """Some predictions of numbers, beside the truth."""

    model_config = ConfigDict(frozen=True)

    target: str
    truth: Curve
    predicted: Curve


class Evaluation(BaseModel):
    """What a model says about the test set, or about validation where there is none."""

    model_config = ConfigDict(frozen=True)

    part: str  # test or val
    examples: int
    confusion: Confusion | None = None
    calibration: Calibration | None = None
    detection: Detection | None = None
    labels: tuple[LabelScore, ...] = ()  # of several labels each
    scatter: tuple[Scatter, ...] = ()
    sketched: tuple[str | float | None, ...] = ()  # predictions of the nodes of the data's sketch
