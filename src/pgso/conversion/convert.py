"""``convert``: the message-passing layers of any PyG model become learned ones."""

import copy
import inspect
import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, get_args

import torch
from torch import Tensor, nn
from torch_geometric.nn import MessagePassing

from pgso.conversion import linear, messages
from pgso.conversion.layer import ADAPTERS, Converted, Handed
from pgso.errors import InputError, UnknownNameError
from pgso.graph.memo import is_traced, is_wrapped
from pgso.gso.module import PGSO, EdgeMasking
from pgso.gso.operator import ShiftOperator
from pgso.gso.parameters import PGSOParameters, Scalar
from pgso.registry import load_plugins

M = TypeVar("M", bound=nn.Module)
Sharing = Literal["pgso", "mpgso"]
Only = str | type[nn.Module] | Collection[str | type[nn.Module]]
# Importing the files registers what is in them.
ADAPTER_FILES = (linear, messages)


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
    if not isinstance(model, nn.Module):
        raise InputError(f"convert takes a torch module, got {type(model).__name__}")
    if operator not in get_args(Sharing):
        raise UnknownNameError("operator", operator, get_args(Sharing))
    if freeze not in (None, "backbone"):
        raise UnknownNameError("freeze", freeze, ("backbone",))
    model = copy.deepcopy(model)
    found = {
        name: layer
        for name, layer in model.named_modules()
        if isinstance(layer, MessagePassing) and not isinstance(layer, EdgeMasking)
    }
    if only is not None:
        found = _chosen(found, only)
    layers: list[Any] = []
    obstacles: list[str] = []
    for name, layer in found.items():
        if isinstance(layer, Converted):
            continue
        if type(layer) not in ADAPTERS:
            load_plugins("pgso.adapters")
        kind: Any = ADAPTERS.get(type(layer))
        reason = kind.obstacle(layer) if kind else "no adapter is known for this kind of layer"
        if reason is None:
            layers.append(layer)
        else:
            obstacles.append(f"{name or 'the model'} ({type(layer).__name__}): {reason}")
    if not layers:
        if any(isinstance(layer, Converted) for layer in found.values()):
            raise InputError(f"this {type(model).__name__} is converted already")
        named = f" ({'; '.join(obstacles)})" if obstacles else ""
        raise InputError(
            f"there is no layer to convert in this {type(model).__name__}{named}; "
            f"convert knows {', '.join(sorted(kind.__name__ for kind in ADAPTERS))}"
        )
    if obstacles:
        warnings.warn(f"left as they were: {'; '.join(obstacles)}", ConversionWarning, stacklevel=2)
    shared: dict[PGSOParameters, PGSO] = {}
    like = next(model.parameters(), torch.empty(0))
    wide = torch.float64 if like.dtype == torch.float64 else torch.float32
    for layer in layers:
        adapter = ADAPTERS[type(layer)]
        S = (adapter.start(layer) if preset is None else PGSOParameters.of(preset)).as_floats()
        operators = [PGSO(S, learn).train(model.training) for _ in range(adapter.num_hops(layer))]
        for gso in operators:
            gso.to(device=like.device, dtype=wide)
            if wide == torch.float64:  # in which 0.7 has more digits
                gso.reset_parameters()
        if operator == "pgso":
            operators = [shared.setdefault(S, operators[0])] * len(operators)
        layer.__class__ = adapter
        layer.adopt(operators)
    hooks = model._forward_pre_hooks.values()
    if _sharing(model) and not any(isinstance(hook, HandDown) for hook in hooks):
        names = list(inspect.signature(model.forward).parameters)
        model.register_forward_pre_hook(HandDown(names), with_kwargs=True)
    if freeze == "backbone":
        learned = {id(p) for m in model.modules() if isinstance(m, PGSO) for p in m.parameters()}
        for parameter in model.parameters():
            parameter.requires_grad = id(parameter) in learned  # lazy ones allow no requires_grad_
    return model


def _chosen(found: dict[str, Any], only: Only) -> dict[str, Any]:
    """The layers that ``only`` means; refuse what means none."""
    chosen: set[str] = set()
    for choice in [only] if isinstance(only, (str, type)) else only:
        if isinstance(choice, str):
            matches = {name for name in found if f"{name}.".startswith(f"{choice}.")}
        elif isinstance(choice, type):
            matches = {name for name, layer in found.items() if isinstance(layer, choice)}
        else:
            raise InputError(f"only takes classes and names of layers, got {choice!r}")
        if not matches:
            layers = (f"{name} ({type(layer).__name__})" for name, layer in found.items())
            word = choice if isinstance(choice, str) else choice.__name__
            raise InputError(f"only={word!r} means no layer; the model has {', '.join(layers)}")
        chosen |= matches
    return {name: layer for name, layer in found.items() if name in chosen}


@dataclass
class HandDown:
    """Called before a converted model: layers that share S and read the graph alike share γ.

    The operators travel with the edge_index: a layer that is handed other edges makes its own γ.
    """

    names: list[str]  # of the arguments of the model's ``forward``

    def __call__(self, model: nn.Module, args: Any, kwargs: Any) -> Any:
        """The arguments, with operators on the edge_index; None for the arguments as they are."""
        given = {**dict(zip(self.names, args, strict=False)), **kwargs}
        x, edges, weight = (given.get(name) for name in ("x", "edge_index", "edge_weight"))
        if is_traced() or not isinstance(x, Tensor) or x.dim() < 2 or type(edges) is not Tensor:
            return None
        if edges.layout != torch.strided or edges.is_inference() or is_wrapped(edges):
            return None
        operators: dict[Any, ShiftOperator] = {}
        try:
            for key, layer in _sharing(model).items():
                operators[key] = layer.on(edges, weight, x.size(-2))
        except InputError:  # x may not be what the layers see: they speak for themselves
            return None
        handed = Tensor._make_subclass(Handed, edges)  # the same numbers in the same memory
        handed.given, handed.version = edges, edges._version
        handed.edge_weight, handed.operators = weight, operators
        if "edge_index" in kwargs:
            return args, {**kwargs, "edge_index": handed}
        place = self.names.index("edge_index")
        return (*args[:place], handed, *args[place + 1 :]), kwargs


def _sharing(model: nn.Module) -> dict[Any, Converted]:
    """What several layers can share, S and how they read a graph, and one of these layers."""
    found: dict[Any, list[Converted]] = {}
    for layer in model.modules():
        if isinstance(layer, Converted) and layer.can_share and not layer.explain:
            found.setdefault((layer.gso, layer.reading, layer.flow), []).append(layer)
    return {key: layers[0] for key, layers in found.items() if len(layers) > 1}
