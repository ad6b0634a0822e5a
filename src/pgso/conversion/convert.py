"""``convert``: the message-passing layers of any PyG model become learned ones."""

import copy
import warnings
from collections.abc import Collection, Sequence
from typing import Any, Literal, TypeVar, get_args

import torch
from torch import nn
from torch_geometric.nn import MessagePassing

from pgso.conversion import attention, messages, neighbours, normalised
from pgso.conversion.layer import ADAPTERS, Converted
from pgso.errors import InputError, UnknownNameError
from pgso.gso.edge_mask import EdgeMasking
from pgso.gso.module import PGSO
from pgso.gso.parameters import PGSOParameters, Scalar
from pgso.gso.presets import resolve
from pgso.registry import load_plugins

M = TypeVar("M", bound=nn.Module)
Sharing = Literal["pgso", "mpgso"]
Only = str | type[nn.Module] | Collection[str | type[nn.Module]]
# Importing the files registers what is in them.
ADAPTER_FILES = (normalised, neighbours, messages, attention)


class ConversionWarning(UserWarning):
    """Some layers of a model were left as they were."""


def convert(
    model: M,
    operator: Sharing = "pgso",
    preset: str | Sequence[Scalar] | None = None,
    learn: bool | Collection[str] = True,
    freeze: Literal["backbone"] | None = None,
    only: Only | None = None,
) -> M:
    """A copy of a PyG model, of its own type, whose layers propagate with a learned γ(A, S).

    Weights, options and call signatures stay, and so do the outputs: S starts where γ is the
    layer's own operator. Layers that cannot be converted are named in one warning and stay.

    Args:
        model: Any module with PyG layers in it; it is left unchanged.
        operator: ``"pgso"``: layers that start from the same S share it; ``"mpgso"``: one S per
            layer (``SGConv``: per hop).
        preset: Another place to start from: a preset's name or seven numbers.
        learn: Which scalars learn, as in :class:`pgso.PGSO`.
        freeze: ``"backbone"`` to train the scalars only.
        only: The layers to convert: classes (``GCNConv``), or names of layers or of modules that
            hold them, as in ``model.named_modules()`` (``"convs.0"``, ``"encoder"``). All others
            stay, without a warning.

    Example:
        >>> from torch_geometric.nn import GCN
        >>> model = convert(GCN(8, 16, num_layers=2, out_channels=3))
        >>> [gso for gso in model.modules() if isinstance(gso, PGSO)]
        [PGSO(m1=0, m2=1, m3=0, e1=0, e2=-0.5, e3=-0.5, a=1)]
    """
    _check(model, operator, freeze)
    model = copy.deepcopy(model)
    wanted = None if only is None else _chosen(model, only)
    layers, obstacles = _layers(model, wanted)
    if not layers:
        if any(
            isinstance(model.get_submodule(name), Converted) for name in wanted or _names(model)
        ):
            raise InputError(f"this {type(model).__name__} is converted already")
        named = f" ({'; '.join(obstacles)})" if obstacles else ""
        raise InputError(
            f"there is no layer to convert in this {type(model).__name__}{named}; "
            f"convert knows {', '.join(sorted(kind.__name__ for kind in ADAPTERS))}"
        )
    if obstacles:
        warnings.warn(f"left as they were: {'; '.join(obstacles)}", ConversionWarning, stacklevel=2)
    shared: dict[PGSOParameters, PGSO] = {}
    for layer in layers:
        adapter: Any = ADAPTERS[type(layer)]
        S = (adapter.start(layer) if preset is None else resolve(preset)).as_floats()
        hops = adapter.num_hops(layer)
        if operator == "pgso":
            operators = [shared.setdefault(S, _operator(S, learn, model))] * hops
        else:
            operators = [_operator(S, learn, model) for _ in range(hops)]
        layer.__class__ = adapter
        layer.adopt(operators)
    if freeze == "backbone":
        learned = {id(p) for m in model.modules() if isinstance(m, PGSO) for p in m.parameters()}
        for parameter in model.parameters():
            parameter.requires_grad = id(parameter) in learned  # lazy ones allow no requires_grad_
    return model


def _names(model: nn.Module) -> list[str]:
    """The layers of PyG in it, converted ones too, by their names."""
    return [
        name
        for name, layer in model.named_modules()
        if isinstance(layer, MessagePassing) and not isinstance(layer, EdgeMasking)
    ]


def _layers(model: nn.Module, wanted: set[str] | None) -> tuple[list[Any], list[str]]:
    """The layers to convert, and in words those that cannot be."""
    layers, obstacles = [], []
    for name in _names(model):
        layer: Any = model.get_submodule(name)
        if isinstance(layer, Converted) or (wanted is not None and name not in wanted):
            continue
        if type(layer) not in ADAPTERS:
            load_plugins("pgso.adapters")
        adapter: Any = ADAPTERS.get(type(layer))
        unknown = "no adapter is known for this kind of layer"
        reason = unknown if adapter is None else adapter.obstacle(layer)
        if reason is None:
            layers.append(layer)
        else:
            obstacles.append(f"{name or 'the model'} ({type(layer).__name__}): {reason}")
    return layers, obstacles


def _chosen(model: nn.Module, only: Only) -> set[str]:
    """The names of the layers that ``only`` means; refuse what means none."""
    names = _names(model)
    choices = [only] if isinstance(only, (str, type)) else list(only)
    chosen: set[str] = set()
    for choice in choices:
        if isinstance(choice, str):
            matches = {name for name in names if f"{name}.".startswith(f"{choice}.")}
        elif isinstance(choice, type):
            matches = {name for name in names if isinstance(model.get_submodule(name), choice)}
        else:
            raise InputError(f"only takes classes and names of layers, got {choice!r}")
        if not matches:
            layers = (f"{name} ({type(model.get_submodule(name)).__name__})" for name in names)
            word = choice if isinstance(choice, str) else choice.__name__
            raise InputError(f"only={word!r} means no layer; the model has {', '.join(layers)}")
        chosen |= matches
    return chosen


def _operator(S: PGSOParameters, learn: bool | Collection[str], model: nn.Module) -> PGSO:
    """An operator where the model lives, in the mode it is in."""
    gso = PGSO(S, learn)
    gso.train(model.training)
    for parameter in model.parameters():
        dtype = torch.float64 if parameter.dtype == torch.float64 else torch.float32
        gso.to(device=parameter.device, dtype=dtype)
        break
    return gso


def _check(model: nn.Module, operator: str, freeze: str | None) -> None:
    if not isinstance(model, nn.Module):
        raise InputError(f"convert takes a torch module, got {type(model).__name__}")
    if operator not in get_args(Sharing):
        raise UnknownNameError("operator", operator, get_args(Sharing))
    if freeze not in (None, "backbone"):
        raise UnknownNameError("freeze", freeze, ("backbone",))
