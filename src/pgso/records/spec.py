"""A run as it is asked for: every choice that matters, frozen and checked."""

import hashlib
import json
import os
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pgso.errors import InputError

Positive = Annotated[int, Field(ge=1)]
Width = Annotated[int, Field(ge=1, le=65_536)]  # what fits into memory; a limit of files, too
Depth = Annotated[int, Field(ge=1, le=1_000)]
Rate = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Probability = Annotated[float, Field(ge=0, lt=1)]
Option = bool | int | float | str
SevenNumbers = tuple[float, float, float, float, float, float, float]


# What a recipe chooses, unless the spec says otherwise.
RECIPES: dict[str, dict[str, Any]] = {
    "paper": {},
    "robust": {
        "s_loss": "val",
        "s_decay": "none",
        "evidence": 0.9,
        "presets": ("mean", "symmetric_laplacian"),
    },
}
SAMPLED_NODES = 1024  # the batch size of sampled training


class RunSpec(BaseModel):
    """One training run. The defaults are those of Appendix B.2.2.

    Two specs that are equal have the same ``key``, which names the record of the run.

    Example:
        >>> spec = RunSpec(dataset="Cora", operator="mpgso", seed=3)
        >>> spec.conv, spec.epochs, spec.key == RunSpec(**spec.model_dump()).key
        ('gcn', 200, True)
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    # what is learned from
    dataset: str
    data_options: dict[str, Option] = {}
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0

    # the model
    conv: str = "gcn"
    operator: Literal["fixed", "pgso", "mpgso", "auto"] = "pgso"
    preset: str | SevenNumbers | None = None
    learn: bool | tuple[str, ...] = True
    shape: Literal["scalar", "node", "channel", "head", "structural"] = "scalar"  # of S
    base: str | None = None  # the matrix in A's place: a name of pgso.bases
    hidden_channels: Width = 64
    num_layers: Depth = 2
    dropout: Probability = 0.5
    input_dropout: Probability | None = None
    norm: Literal["batch", "layer"] | None = None
    residual: bool = False
    jk: Literal["last", "cat", "max", "lstm"] | None = None
    pooling: Literal["sum", "mean", "max"] = "sum"
    heads: Annotated[int, Field(ge=1, le=1_024)] = 8

    # how it is trained
    recipe: Literal["paper", "robust"] = "paper"
    s_loss: Literal["train", "val"] = "train"  # which labels S is learned on
    s_rate: Rate = 1.0  # how fast S learns, relative to lr and exponent_lr
    s_decay: Literal["zero", "start", "none"] = "zero"  # where weight decay pulls S
    s_delay: Annotated[int, Field(ge=0)] = 0  # epochs before S begins to learn
    evidence: Probability | None = None  # that another operator is better, else keep the fixed one
    presets: tuple[str, ...] = ()  # other fixed operators that auto tries and starts from
    epochs: Positive = 200
    lr: Rate = 0.01
    exponent_lr: Rate = 0.005
    weight_decay: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 5e-4
    lr_decay: Annotated[float, Field(gt=0, le=1)] = 0.5
    lr_step: Positive = 50
    sample: tuple[int, ...] | None = None  # neighbours per hop (-1: all); None: the whole graph
    batch_size: Positive = 32  # graphs, or nodes if neighbours are sampled: then 1024
    max_radius: Rate | None = None

    def __init__(self, **choices: Any) -> None:
        try:
            defaults = {**RECIPES.get(choices.get("recipe", ""), {})}
            if choices.get("sample"):
                defaults["batch_size"] = SAMPLED_NODES
            if isinstance(choices.get("dataset"), os.PathLike):
                defaults["dataset"] = os.fspath(choices.pop("dataset"))
            super().__init__(**{**defaults, **choices})
            self.dataset.encode()  # a record is UTF-8, and could not be read again
        except UnicodeEncodeError:
            raise InputError(
                f"the name of the dataset {self.dataset!r} is not UTF-8; rename the folder"
            ) from None
        except ValidationError as error:
            raise InputError(_sentence(error)) from None

    @property
    def key(self) -> str:
        """A name made of the choices that differ from the defaults: new ones may be added."""
        chosen = _plain(self.model_dump(mode="json", exclude_defaults=True))
        text = json.dumps(chosen, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:20]

    @property
    def needed_evidence(self) -> float | None:
        """How sure validation has to be of a challenger; several share the risk (Bonferroni)."""
        if self.evidence is None:
            return None
        challengers = 2 + len(self.presets) if self.operator == "auto" else 1
        return 1 - (1 - self.evidence) / challengers

    def but(self, **changes: Any) -> "RunSpec":
        """The same spec with some choices changed, checked again.

        What the old recipe or sampling had filled in is filled in anew by the changed ones.
        """
        kept = self.model_dump()
        if changes.get("recipe", self.recipe) != self.recipe:
            for name in {field for choices in RECIPES.values() for field in choices}:
                default = RunSpec.model_fields[name].default
                if kept[name] == RECIPES[self.recipe].get(name, default):
                    del kept[name]
        if bool(changes.get("sample", self.sample)) != bool(self.sample):
            default = RunSpec.model_fields["batch_size"].default
            if kept["batch_size"] == (SAMPLED_NODES if self.sample else default):
                del kept["batch_size"]
        return RunSpec(**{**kept, **changes})


def _plain(value: Any) -> Any:
    """Numbers that are equal written alike: 1, 1.0 and True; 0.0 and -0.0."""
    if isinstance(value, dict):
        return {name: _plain(entry) for name, entry in value.items()}
    if isinstance(value, list):
        return [_plain(entry) for entry in value]
    if isinstance(value, bool | float) and float(value).is_integer():
        return int(value)
    return value


def _sentence(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    field = str(first["loc"][0])
    if first["type"] == "extra_forbidden":
        known = ", ".join(RunSpec.model_fields)
        return f"a run has no choice called {field!r}; known: {known}"
    if first["type"] == "missing":
        return f"a run needs {field}"
    return f"{field} cannot be {first['input']!r:.80}: {first['msg'].lower()}"
