"""A run as it went: scores, learned operators, curves, and what it ran on."""

import math
from html import escape
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationInfo, field_validator

from pgso.objectives import OBJECTIVES, Objective
from pgso.records.evaluation import Evaluation
from pgso.records.explanation import Explanation
from pgso.records.finding import FindingRecord
from pgso.records.judged import Judged
from pgso.records.numerics import UNSAID, Revised
from pgso.records.spec import SevenNumbers, StoredSpec
from pgso.records.spectra import Spectra

if TYPE_CHECKING:
    import pandas


class RunRecord(Revised, BaseModel):
    """What a run leaves behind. The epoch is chosen on validation; test is only recorded."""

    model_config = ConfigDict(frozen=True, ser_json_inf_nan="constants")

    spec: StoredSpec
    status: Literal["done", "diverged", "failed"] = "done"
    error: str | None = None  # why it failed or where it diverged
    metric: str = "accuracy"  # the objective's name, which says how a score is read
    positive: str | None = None  # the class that the score is about, where it is about one of two
    val: float | None = None  # at the chosen epoch; a fraction, or in the unit of the targets
    test: float | None = None
    epoch: int | None = None  # the chosen one, counted from 0
    chosen: str | None = None  # the mode of the network that was kept, where there was a choice
    rung: str | None = None  # the rung of pgso.find whose network it is
    network: dict[str, Any] = {}  # what that rung changed in the spec
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
    data: str | None = None  # the state of a user's own files, see records/fingerprint.py
    versions: dict[str, str] = {}
    timing: dict[str, float] = {}  # seconds, peak_memory_mib: all that may differ between reruns

    @field_validator("val", "test")
    @classmethod
    def _score_of_a_file(cls, score: float | None, info: ValidationInfo) -> float | None:
        """Refuse NaN in a file: a page would show it as a result. An error may be infinite."""
        if info.mode == "json" and score is not None and math.isnan(score):
            raise ValueError("NaN is no score")
        return score

    @field_validator("start", "parameters")
    @classmethod
    def _finite(cls, values: tuple[SevenNumbers, ...]) -> tuple[SevenNumbers, ...]:
        if not all(math.isfinite(number) for S in values for number in S):
            raise ValueError("S must be finite")
        return values

    @property
    def ladder_revision(self) -> int | None:
        """The revision of the ladder, where it was climbed or asked for networks."""
        if self.finding is not None:
            return self.finding.ladder
        if not self.spec.climbs or self.status == "failed":
            return None
        return UNSAID if self.ladder is None else self.ladder

    @property
    def objective(self) -> Objective:
        """Which way is better, and how scores are written."""
        return OBJECTIVES[self.metric].of_class(self.positive)

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

        columns: dict[str, Any] = {}
        for name, curve in self.curves.items():
            if curve and all(isinstance(value, (int, float, type(None))) for value in curve):
                columns[name] = pandas.Series(curve)
        names = ("m1", "m2", "m3", "e1", "e2", "e3", "a")
        for epoch_S in [self.curves.get("parameters") or []]:
            for k in range(len(epoch_S[0]) if epoch_S else 0):
                for number, name in enumerate(names):
                    label = name if len(epoch_S[0]) == 1 else f"{name} of operator {k + 1}"
                    columns[label] = pandas.Series([S[k][number] for S in epoch_S])
        return pandas.DataFrame(columns).rename_axis("epoch")

    def _repr_html_(self) -> str:
        rows = {"validation": self.val, "test": self.test, "epoch": self.epoch}
        cells = "".join(
            f"<tr><th>{name}</th><td>{'-' if value is None else f'{value:.6g}'}</td></tr>"
            for name, value in rows.items()
        )
        S = "".join(
            f"<tr><th>S</th><td>{', '.join(f'{value:.4g}' for value in S)}</td></tr>"
            for S in self.parameters[:8]
        )
        return f"<b>{escape(repr(self))}</b><table>{cells}{S}</table>"

    def without_times(self) -> dict[str, Any]:
        """Everything that must be the same when the same spec is run again on one machine."""
        times: Any = {"seconds": True, "rungs": {"__all__": {"seconds"}}}
        return self.model_dump(mode="json", exclude={"timing": True, "finding": times})
