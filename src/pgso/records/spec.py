"""A run as it is asked for: every choice that matters, frozen and checked."""

import hashlib
import json
import os
from collections.abc import Mapping
from importlib import import_module
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from pgso.errors import InputError
from pgso.objectives import OBJECTIVES
from pgso.records.suggestions import STRONG, deeper, strong

Positive = Annotated[int, Field(ge=1)]
Width = Annotated[int, Field(ge=1, le=65_536)]  # what fits into memory; a limit of files, too
Depth = Annotated[int, Field(ge=1, le=1_000)]
Rate = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Seed = Annotated[int, Field(ge=0, lt=2**32)]
Degree = Annotated[int, Field(ge=0, le=256)]
Decay = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Probability = Annotated[float, Field(ge=0, lt=1)]
Option = bool | int | float | str
Number = Annotated[float, Field(allow_inf_nan=False)]
SevenNumbers = tuple[Number, Number, Number, Number, Number, Number, Number]

# What a recipe chooses, unless the spec says otherwise.
RECIPES: dict[str, dict[str, Any]] = {
    "paper": {},
    "robust": {"s_loss": "held_out", "s_decay": "none", "evidence": 0.9, "judges": True},
    "strong": {},  # by dataset: pgso.records.suggestions
}
CANDIDATES = 2  # of pgso.find, that auto tries
CONV_OF = {"terms": "bank", "basis": "filter", "degree": "filter"}  # what a choice implies
DROPOUT = ("dropout", "input_dropout")
SAMPLED_NODES = 1024  # the batch size of sampled training
# Links are learned as by Kipf & Welling (2016): embeddings have nothing to spare for dropout.
LINKS = {"dropout": 0.0, "weight_decay": 0.0, "lr_decay": 1.0}


def choice(
    default: Any, panel: str, about: str, usual: str | None = None, option: str | None = None
) -> Any:
    """A field of a spec that is also an option of the commands, in this panel of their help.

    ``usual`` is the default in words; ``option`` its name on the command line, if it is another.
    """
    extra: dict[str, Any] = {"panel": panel, "usual": usual, "option": option}
    return Field(default, description=about, json_schema_extra=extra)


class RunSpec(BaseModel):
    """One training run. The defaults come from Appendix B.2.2 and from the dataset.

    What a named dataset suggests (layers, norm, options) is filled in where nothing else is said. A
    spec opens no file: what a user's own table suggests is filled in by :meth:`suited` when its
    data are known. Two specs that are equal have the same ``key``, which names the record.

    ``RunSpec(complete=True, **choices)`` reads a spec that was written down: what it leaves out is
    the default, and not what dataset, recipe or task would fill in today.

    Example:
        >>> spec = RunSpec(dataset="Cora", operator="mpgso", seed=3)
        >>> spec.conv, spec.epochs, spec.key == RunSpec(**spec.model_dump()).key
        ('gcn', 200, True)
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    # what is learned from
    dataset: str = Field(description="A name (pgso list datasets) or your own folder.")
    data_options: dict[str, Option] = Field({}, description="Options of the dataset.")
    seed: Seed = choice(0, "data", "The seed of the split and of the weights.")
    task: Literal["node", "graph", "link"] | None = choice(
        None, "data", "link: predict links.", "what the dataset is for"
    )
    objective: str | None = choice(
        None, "data", "What is scored: pgso list objectives.", "the dataset's"
    )
    reorder: bool = choice(True, "data", "Sort a large graph's nodes into a faster order.")
    log_targets: bool = choice(False, "data", "Learn the logarithm of the targets.")
    class_weights: Literal["balanced"] | None = choice(
        None, "data", "balanced: rare classes count as much as frequent ones.", "all count the same"
    )

    # the model
    head: Literal["trained", "closed_form"] = choice(
        "trained", "network", "A trained network, or what pgso find keeps."
    )
    conv: str = choice(
        "gcn", "network", "Base architecture: pgso list convs. Terms imply bank, a basis filter."
    )
    terms: tuple[str, ...] | None = choice(
        None, "network", "A bank: each term has weights of its own, e.g. self,gcn@in,gcn@out."
    )
    basis: Literal["monomial", "chebyshev", "bernstein", "jacobi"] | None = choice(
        None, "network", "The basis of a polynomial filter."
    )
    degree: Degree | None = choice(None, "network", "The degree of a filter.", "10")
    bias: Literal["after", "inside"] = choice(
        "after", "network", "Whether a GCN's bias comes after γ, or inside its linear map."
    )
    operator: Literal["fixed", "pgso", "mpgso", "found", "auto"] = choice(
        "pgso", "S", "S fixed, one learned, one a layer, what pgso find keeps, or the best of all."
    )
    preset: str | SevenNumbers | None = choice(
        None, "S", "Where S starts: pgso list presets, or m1,m2,m3,e1,e2,e3,a.", "the conv's"
    )
    learn: bool | tuple[str, ...] = choice(True, "S", "Which scalars of S learn, e.g. m2,e2.")
    shape: Literal["scalar", "node", "channel", "head", "structural"] = choice(
        "scalar", "S", "One S, or one per node, channel or head, or by structure."
    )
    base: str | None = choice(
        None, "S", "Another matrix than A: heat, non-backtracking, ppr, undirected.", "A"
    )
    hidden_channels: Width = choice(64, "network", "Width of the hidden layers.", option="--hidden")
    num_layers: Depth = choice(
        2, "network", "Number of layers.", "2, or the dataset's", option="--layers"
    )
    dropout: Probability = choice(0.5, "network", "Share of hidden numbers that are dropped.")
    input_dropout: Probability | None = choice(
        None, "network", "Share of the features that are dropped.", "as dropout"
    )
    norm: Literal["batch", "layer"] | None = choice(None, "network", "A norm between layers.")
    residual: bool = choice(False, "network", "Add a layer's input to its output.")
    jk: Literal["last", "cat", "max", "lstm"] | None = choice(
        None, "network", "How the outputs of all layers are joined (jumping knowledge)."
    )
    pooling: Literal["sum", "mean", "max"] = choice(
        "sum", "network", "How a graph's nodes become one vector."
    )
    heads: Annotated[int, Field(ge=1, le=1_024)] = choice(8, "network", "Attention heads of a GAT.")
    decoder: Literal["dot", "bilinear", "mlp"] = choice(
        "dot", "network", "How a link is scored from the embeddings of its ends."
    )

    # how it is trained
    recipe: Literal["paper", "robust", "strong"] = choice(
        "paper", "training", "Settings that go together: docs/train.md."
    )
    s_loss: Literal["train", "val", "held_out"] = choice("train", "S", "The labels S learns on.")
    s_rate: Rate = choice(1.0, "S", "How fast S learns, relative to the learning rates.")
    s_decay: Literal["zero", "start", "none"] = choice("zero", "S", "Where weight decay pulls S.")
    s_delay: Annotated[int, Field(ge=0)] = choice(0, "S", "Epochs before S begins to learn.")
    evidence: Probability | None = choice(
        None, "S", "How sure validation must be, or the fixed operator is kept."
    )
    judges: bool = choice(
        False, "S", "Validation labels that judge choose no epoch and teach no S."
    )
    candidates: Annotated[int, Field(ge=0, le=8)] = choice(
        0, "S", "Networks of pgso find that auto tries.", "2 for auto"
    )
    presets: tuple[str, ...] = choice((), "S", "Fixed operators that auto tries and starts from.")
    epochs: Positive = choice(200, "training", "Passes over the training data.")
    lr: Rate = choice(0.01, "training", "Learning rate of weights, m1, m2, m3 and a.")
    exponent_lr: Rate = choice(0.005, "training", "Learning rate of the exponents e1, e2 and e3.")
    weight_decay: Decay = choice(5e-4, "training", "Weight decay.")
    lr_decay: Annotated[float, Field(gt=0, le=1)] = choice(
        0.5, "training", "The learning rate is multiplied by this every --lr-step epochs."
    )
    lr_step: Positive = choice(50, "training", "Epochs between two such steps.")
    sample: tuple[int, ...] | None = choice(
        None, "training", "Train on sampled neighbours: how many in each hop, e.g. 15,10; -1: all."
    )
    batch_size: Positive = choice(
        32, "training", "Graphs in a batch, or nodes if neighbours are sampled.", "32, 1024 nodes"
    )
    max_radius: Rate | None = choice(None, "S", "Keep the certified spectral radius below this.")

    def __init__(self, **choices: Any) -> None:
        complete = choices.pop("complete", False)  # True, or the names of the choices that are made
        said = set(complete or choices) if complete is not True else set(RunSpec.model_fields)
        try:
            if isinstance(choices.get("dataset"), os.PathLike):
                choices["dataset"] = os.fspath(choices["dataset"])
            if choices.get("objective") is not None:
                choices["objective"] = OBJECTIVES[choices["objective"]].name
            if not complete:
                filled, known = _filled_in(choices), known_dataset(choices.get("dataset"))
                if isinstance(choices.get("data_options"), dict):  # options of the data one by one
                    given = choices.pop("data_options")
                    filled["data_options"] = {**filled.get("data_options", {}), **given}
                choices = {**filled, **choices}
                if known is not None:
                    choices["dataset"] = known.name
            super().__init__(**choices)
            self.model_fields_set.clear()  # the other choices are filled in, and may be anew
            self.model_fields_set.update(said)
            self.dataset.encode()  # a record is UTF-8, and could not be read again
        except UnicodeEncodeError:
            raise InputError(
                f"the name of the dataset {self.dataset!r} is not UTF-8; rename the folder"
            ) from None
        except ValidationError as error:
            raise InputError(_sentence(error)) from None
        # What another conv would ignore, and options of the data that are none.
        for name, conv in CONV_OF.items():
            if getattr(self, name) is not None and self.conv != conv:
                raise InputError(
                    f"{name} is a choice of conv={conv!r}, got conv={self.conv!r}; leave one out"
                )
        for name in self.data_options:
            if name in ("seed", "task", "objective"):
                raise InputError(
                    f"{name} is no option of {self.dataset} but a choice of the run; give {name} "
                    f"beside the options (on the command line: --{name})"
                )
            if name in ("name", "root", "preparation"):
                raise InputError(f"{self.dataset} has no option {name!r}; see docs/own_data.md")

    @property
    def key(self) -> str:
        """A name made of the choices that differ from the defaults: new ones may be added."""

        def alike(value: Any) -> Any:  # numbers that are equal: 1, 1.0 and True; 0.0 and -0.0
            if isinstance(value, dict):
                return {name: alike(entry) for name, entry in value.items()}
            if isinstance(value, list):
                return [alike(entry) for entry in value]
            is_whole = isinstance(value, bool | float) and float(value).is_integer()
            return int(value) if is_whole else value

        chosen = alike(self.model_dump(mode="json", exclude_defaults=True))
        text = json.dumps(chosen, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:20]

    @property
    def is_choice(self) -> bool:
        """Whether it takes several trainings, or a search before one."""
        judges = self.operator != "fixed" and self.evidence is not None
        return judges or self.operator in ("found", "auto")

    @property
    def climbs(self) -> bool:
        """Whether the ladder of pgso.find proposes networks to it."""
        return self.operator == "found" or (self.operator == "auto" and self.candidates > 0)

    @property
    def num_trainings(self) -> int:
        """How many trainings it takes, at most."""
        if self.operator == "auto":
            return 3 + len(self.presets) + self.candidates
        return 2 if self.is_choice and self.operator != "found" else 1

    @property
    def needed_evidence(self) -> float | None:
        """How sure validation has to be of a challenger; several share the risk (Bonferroni)."""
        if self.evidence is None:
            return None
        return 1 - (1 - self.evidence) / max(1, self.num_trainings - 1)

    @property
    def compared(self) -> "list[RunSpec]":
        """The runs of a comparison that differ: with one layer mPGSO is PGSO."""
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
        drops out as the dataset's published strong network. None if this one is residual already.
        """
        if self.residual or self.recipe == "strong":
            return None
        changes = deeper(self.num_layers, self.norm)
        published = STRONG.get(self.dataset.lower(), {})
        changes |= {name: published[name] for name in DROPOUT if name in published}
        if "self" in (self.terms or ()):
            changes["residual"] = False  # the term is the residual map
        if self.conv == "sgc":
            changes["conv"] = "gcn"  # hops without layers between them have nothing to add to
        return self.but(operator="fixed", recipe="paper", preset=None, **changes)

    def but(self, **changes: Any) -> "RunSpec":
        """The same spec with some choices changed, checked again.

        What the old recipe, task, sampling or dataset had filled in is filled in anew.
        """
        values, said = self.model_dump(), self.model_fields_set
        old, new = _filled_in(values), _filled_in({**values, **changes})
        for name in {*old, *new}:
            default = RunSpec.model_fields[name].default
            before, after = old.get(name, default), new.get(name, default)
            if before != after and (values[name] == before or name not in said):
                values[name] = after
        known = known_dataset(changes.get("dataset"))
        if known is not None:
            changes["dataset"] = known.name
        return RunSpec(complete={*said, *changes}, **{**values, **changes})

    def suited(self, suggestions: Mapping[str, Any]) -> "RunSpec":
        """The same spec with what its data suggest, where nothing else was said."""
        values, said = self.model_dump(), self.model_fields_set
        filled = _filled_in(values, suggestions)
        chosen = {name: values[name] for name in said}
        return RunSpec(complete=said, **{**values, **filled, **chosen})


def known_dataset(name: Any) -> Any:
    """The registered dataset of this name, or None.

    Datasets lie above records: their registry, which needs no torch, is found by its name.
    """
    # None, of a spec that keeps its dataset, is not looked for: its error would list near names.
    return None if name is None else import_module("pgso.data").DATASETS.get(name)


def _filled_in(
    choices: Mapping[str, Any], suggestions: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """What dataset, recipe, sampling and task choose where nothing else is said."""
    known = known_dataset(choices.get("dataset"))
    if suggestions is None:
        suggestions = {} if known is None else known.model
    filled = {**suggestions, **RECIPES.get(choices.get("recipe", ""), {})}
    if choices.get("head") == "closed_form":  # pgso.find asks about directions itself
        filled.pop("data_options", None)
    if choices.get("recipe") == "strong":
        filled |= strong(str(choices.get("dataset")), filled)
    if choices.get("operator") == "auto" and not choices.get("presets"):
        filled["candidates"] = CANDIDATES
    for name, conv in CONV_OF.items():
        if choices.get(name) is not None:
            filled["conv"] = conv
    terms = choices.get("terms")
    texts = terms if isinstance(terms, (tuple, list)) else ()
    is_directed = any(str(text).endswith(("@in", "@out")) for text in texts)
    if is_directed and known is not None and "undirected" in known.options:
        filled["data_options"] = {**filled.get("data_options", {}), "undirected": False}
    if choices.get("sample"):
        filled["batch_size"] = SAMPLED_NODES
    return {**filled, **LINKS} if choices.get("task") == "link" else filled


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
            f"preset cannot be {first['input']!r:.80}: give a name, or seven numbers "
            "m1,m2,m3,e1,e2,e3,a, such as 0,1,0,0,-0.5,-0.5,1"
        )
    return f"{field} cannot be {first['input']!r:.80}: {first['msg'].lower()}"


# A stored spec stands as it is: what it leaves out are defaults, not suggestions.
StoredSpec = Annotated[
    RunSpec,
    BeforeValidator(lambda spec: RunSpec(complete=True, **spec) if type(spec) is dict else spec),
]
