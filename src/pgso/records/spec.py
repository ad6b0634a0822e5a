"""A run as it is asked for: every choice that matters, frozen and checked."""

import hashlib
import json
import os
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from pgso.errors import InputError
from pgso.objectives import OBJECTIVES
from pgso.records.strong import STRONG, deeper, strong
from pgso.records.suggestions import has_direction, suggested

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
    "robust": {"s_loss": "held_out", "s_decay": "none", "evidence": 0.9, "judges": True},
    "strong": {},  # by dataset: pgso.records.strong
}
CANDIDATES = 2  # of pgso.find, that auto tries
CONV_OF = {"terms": "bank", "basis": "filter", "degree": "filter"}  # what a choice implies
STRONG_DROPOUT = ("dropout", "input_dropout")
SAMPLED_NODES = 1024  # the batch size of sampled training
# Links are learned as by Kipf & Welling (2016): embeddings have nothing to spare for dropout.
LINKS = {"dropout": 0.0, "weight_decay": 0.0, "lr_decay": 1.0}


class RunSpec(BaseModel):
    """One training run. The defaults come from Appendix B.2.2 and from the dataset.

    What a dataset suggests (layers, norm, options) is filled in where nothing else is said, so
    that the same words are the same run in Python and in the shell. Two specs that are equal have
    the same ``key``, which names the record of the run.

    ``RunSpec(complete=True, **choices)`` reads a spec that was written down: what it leaves out is
    the default, and not what dataset, recipe or task would fill in today.

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
    task: Literal["node", "graph", "link"] | None = None  # None: what the dataset is for
    objective: str | None = None  # a name of pgso.objectives; None: the dataset's own
    reorder: bool = True  # whether a large graph's nodes are put into an order that is faster
    log_targets: bool = False  # whether the logarithm of the targets is learned
    class_weights: Literal["balanced"] | None = None  # None: every example counts the same

    # the model
    head: Literal["trained", "closed_form"] = "trained"  # a network, or what pgso.find keeps
    conv: str = "gcn"  # see pgso list convs; terms imply "bank", a basis or degree "filter"
    terms: tuple[str, ...] | None = None  # of a bank: "self", a preset, preset@in, @out, @RELATION
    basis: Literal["monomial", "chebyshev", "bernstein", "jacobi"] | None = None  # of a filter
    degree: Annotated[int, Field(ge=0, le=256)] | None = None  # of a filter's polynomial
    operator: Literal["fixed", "pgso", "mpgso", "found", "auto"] = (
        "pgso"  # S fixed, one, one a layer
    )
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
    decoder: Literal["dot", "bilinear", "mlp"] = "dot"  # of links, from the nodes' embeddings

    # how it is trained
    recipe: Literal["paper", "robust", "strong"] = "paper"
    s_loss: Literal["train", "val", "held_out"] = "train"  # which labels S is learned on
    s_rate: Rate = 1.0  # how fast S learns, relative to lr and exponent_lr
    s_decay: Literal["zero", "start", "none"] = "zero"  # where weight decay pulls S
    s_delay: Annotated[int, Field(ge=0)] = 0  # epochs before S begins to learn
    evidence: Probability | None = None  # that another operator is better, else keep the fixed one
    judges: bool = False  # whether validation labels that judge choose no epoch and teach no S
    candidates: Annotated[int, Field(ge=0, le=8)] = 0  # of pgso.find, that auto tries: 2
    presets: tuple[str, ...] = ()  # fixed operators that auto tries and starts from instead
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
        complete = choices.pop("complete", False)
        try:
            if isinstance(choices.get("dataset"), os.PathLike):
                choices["dataset"] = os.fspath(choices["dataset"])
            if choices.get("objective") is not None:
                choices["objective"] = OBJECTIVES[choices["objective"]].name
            if not complete:
                filled = _filled_in(choices)
                if isinstance(choices.get("data_options"), dict):  # options of the data one by one
                    given = choices.pop("data_options")
                    filled["data_options"] = {**filled.get("data_options", {}), **given}
                if isinstance(choices.get("dataset"), str):
                    choices["dataset"], _ = suggested(choices["dataset"])
                choices = {**filled, **choices}
            super().__init__(**choices)
            self._check_conv()
            self._check_options()
            self.dataset.encode()  # a record is UTF-8, and could not be read again
        except UnicodeEncodeError:
            raise InputError(
                f"the name of the dataset {self.dataset!r} is not UTF-8; rename the folder"
            ) from None
        except ValidationError as error:
            raise InputError(_sentence(error)) from None

    def _check_conv(self) -> None:
        """Refuse what another conv would ignore."""
        for name, conv in CONV_OF.items():
            if getattr(self, name) is not None and self.conv != conv:
                raise InputError(
                    f"{name} is a choice of conv={conv!r}, got conv={self.conv!r}; leave one out"
                )

    def _check_options(self) -> None:
        """Refuse options of the data that are choices of the run, or that no user may give."""
        for name in self.data_options:
            if name in ("seed", "task", "objective"):
                raise InputError(
                    f"{name} is no option of {self.dataset} but a choice of the run; give {name} "
                    f"beside the options (on the command line: --{name})"
                )
            if name in ("name", "root", "preparation"):
                raise InputError(f"{self.dataset} has no option {name!r}; see docs/data_formats.md")

    @property
    def key(self) -> str:
        """A name made of the choices that differ from the defaults: new ones may be added."""
        chosen = _plain(self.model_dump(mode="json", exclude_defaults=True))
        text = json.dumps(chosen, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:20]

    @property
    def is_choice(self) -> bool:
        """Whether it takes several trainings, or a search before one."""
        if self.operator in ("found", "auto"):
            return True
        return self.operator != "fixed" and self.evidence is not None

    @property
    def climbs(self) -> bool:
        """Whether the ladder of pgso.find proposes networks to it."""
        return self.operator == "found" or (self.operator == "auto" and self.candidates > 0)

    @property
    def needed_evidence(self) -> float | None:
        """How sure validation has to be of a challenger; several share the risk (Bonferroni)."""
        if self.evidence is None:
            return None
        challengers = 1
        if self.operator == "auto":
            challengers = 2 + len(self.presets) + self.candidates
        return 1 - (1 - self.evidence) / challengers

    @property
    def num_trainings(self) -> int:
        """How many trainings it takes, at most."""
        if self.operator == "auto":
            return 3 + len(self.presets) + self.candidates
        return 2 if self.is_choice and self.operator != "found" else 1

    @property
    def compared(self) -> "list[RunSpec]":
        """The runs of a comparison that differ: with one layer mPGSO is PGSO.

        Example:
            >>> [spec.operator for spec in RunSpec(dataset="karate", num_layers=1).compared]
            ['fixed', 'pgso', 'found']
        """
        names = ["fixed", "pgso"]
        if self.num_layers > 1:
            names.append("mpgso")
        if self.task != "link" and self.terms is None:
            names.append("found")
        # All seeds decide together, not every one alone.
        changes = {"evidence": None} if self.judges else {}
        return [self.but(operator=name, **changes) for name in names]

    @property
    def stronger(self) -> "RunSpec | None":
        """A fixed network with more structure, within as many epochs: what a gain is held against.

        It is twice as deep, with residual maps, a norm and the architecture's own operator, and
        drops out as the dataset's strong network does where one is published. None if this network
        has residual maps already.

        Example:
            >>> spec = RunSpec(dataset="karate").stronger
            >>> spec.operator, spec.num_layers, spec.norm, spec.residual
            ('fixed', 4, 'batch', True)
        """
        if self.residual or self.recipe == "strong":
            return None
        changes = deeper(self.num_layers, self.norm)
        published = STRONG.get(self.dataset.lower(), {})
        changes |= {name: published[name] for name in STRONG_DROPOUT if name in published}
        if "self" in (self.terms or ()):
            changes["residual"] = False  # the term is the residual map
        if self.conv == "sgc":
            changes["conv"] = "gcn"  # hops without layers between them have nothing to add to
        return self.but(operator="fixed", recipe="paper", preset=None, **changes)

    def but(self, **changes: Any) -> "RunSpec":
        """The same spec with some choices changed, checked again.

        What the old recipe, task, sampling or dataset had filled in is filled in anew.
        """
        values = self.model_dump()
        old, new = _filled_in(values), _filled_in({**values, **changes})
        for name in {*old, *new}:
            default = RunSpec.model_fields[name].default
            before, after = old.get(name, default), new.get(name, default)
            if before != after and values[name] == before:
                values[name] = after
        if "dataset" in changes:
            changes["dataset"], _ = suggested(os.fspath(changes["dataset"]))
        return RunSpec(complete=True, **{**values, **changes})


def _filled_in(choices: Mapping[str, Any]) -> dict[str, Any]:
    """What dataset, recipe, sampling and task choose where nothing else is said."""
    dataset = choices.get("dataset")
    filled = dict(suggested(dataset)[1]) if isinstance(dataset, str) else {}
    filled |= RECIPES.get(choices.get("recipe", ""), {})
    if choices.get("head") == "closed_form":  # pgso.find asks about directions itself
        filled.pop("data_options", None)
    if choices.get("recipe") == "strong" and isinstance(dataset, str):
        filled |= strong(dataset, filled)
    if choices.get("operator") == "auto" and not choices.get("presets"):
        filled["candidates"] = CANDIDATES
    for name, conv in CONV_OF.items():
        if choices.get(name) is not None:
            filled["conv"] = conv
    if isinstance(dataset, str) and _is_directed(choices.get("terms")) and has_direction(dataset):
        filled["data_options"] = {**filled.get("data_options", {}), "undirected": False}
    if choices.get("sample"):
        filled["batch_size"] = SAMPLED_NODES
    return {**filled, **LINKS} if choices.get("task") == "link" else filled


def _is_directed(terms: Any) -> bool:
    """Whether a term tells incoming from outgoing edges: then the data keep their direction."""
    texts = terms if isinstance(terms, (tuple, list)) else ()
    return any(str(text).endswith(("@in", "@out")) for text in texts)


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
        names = ", ".join(RunSpec.model_fields)
        return f"a run has no choice called {field!r}; known: {names}"
    if first["type"] == "missing":
        return f"a run needs {field}"
    if field == "preset":  # pydantic would speak of texts only
        return (
            f"preset cannot be {first['input']!r:.80}: give a name, or seven numbers m1, ..., e3, a"
        )
    return f"{field} cannot be {first['input']!r:.80}: {first['msg'].lower()}"


def _as_written(spec: Any) -> Any:
    """A stored spec stands as it is: what it leaves out are defaults, not suggestions."""
    return RunSpec(complete=True, **spec) if isinstance(spec, dict) else spec


StoredSpec = Annotated[RunSpec, BeforeValidator(_as_written)]
