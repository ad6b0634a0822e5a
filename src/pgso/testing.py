"""Tests for authors of plug-ins: what every conv and every adapter of ``convert`` must do.

Each function returns nothing, or raises an ``AssertionError`` that says which rule is broken.
"""

from typing import Any, Literal

import torch
from torch import Tensor, nn

from pgso import GNN, PGSO, Graph, convert

Mode = Literal["fixed", "pgso", "mpgso"]
# Six nodes, the last one isolated; every edge in both directions with the same weight.
EDGES = torch.tensor([[0, 1, 1, 2, 2, 3, 3, 0, 1, 3, 0, 4], [1, 0, 2, 1, 3, 2, 0, 3, 3, 1, 4, 0]])
WEIGHT = torch.tensor([1.0, 1.0, 0.5, 0.5, 2.0, 2.0, 1.5, 1.5, 0.7, 0.7, 0.9, 0.9])
ORDER = torch.tensor([3, 0, 5, 1, 4, 2])  # new names of the nodes
MODES: tuple[Mode, ...] = ("fixed", "pgso", "mpgso")


def check_conv(conv: str, **options: Any) -> None:
    """Check a registered conv by its name, in a network of two layers; options are of the network.

    Example:
        >>> check_conv("gcn")
    """
    x = torch.randn(6, 5, generator=torch.Generator().manual_seed(0))
    models: dict[Mode, GNN] = {}
    for mode in MODES:
        torch.manual_seed(0)
        models[mode] = GNN(conv, 5, 8, 3, num_layers=2, operator=mode, dropout=0.0, **options)
    outputs = {mode: model.eval()(x, EDGES, WEIGHT) for mode, model in models.items()}
    for mode, out in outputs.items():
        assert out.shape == (6, 3), f"{mode}: six nodes get an answer of shape {(*out.shape,)}"
        assert out.isfinite().all(), f"{mode}: an answer is not finite"
        _close(out, outputs["fixed"], f"{mode} and fixed differ before anything is learned")
    for mode, model in models.items():
        renamed = model(x[ORDER], ORDER.argsort()[EDGES], WEIGHT)
        _close(renamed, outputs[mode][ORDER], f"{mode}: renaming the nodes changes the answers")
        turned = model(x, EDGES.flip(1), WEIGHT.flip(0))
        _close(turned, outputs[mode], f"{mode}: the order of the edges changes the answers")
        prepared = model(x, Graph.from_edge_index(EDGES, WEIGHT, 6))
        _close(prepared, outputs[mode], f"{mode}: a Graph and its edges give different answers")
        _check_gradients(model, model(x, EDGES, WEIGHT), mode)
    for mode, count in zip(MODES, (0, 1, 2), strict=True):
        learned = {id(gso) for gso in models[mode].operators if list(gso.parameters())}
        assert len(learned) == count, (
            f"{mode}: {len(learned)} operators of two layers are learned, and should be {count}; "
            "use the operator that the layer is given"
        )


def check_adapter(
    layer: nn.Module,
    x: Tensor | None = None,  # (6, F)
    *further: Any,  # what ``forward`` takes after edge_index
    in_channels: int | None = None,
) -> None:
    """Check the adapter of a layer: ``convert`` must change nothing until S learns.

    Args:
        layer: A layer of the kind that the adapter converts, with its weights.
        x: Features of six nodes; by default drawn, ``layer.in_channels`` wide.
        further: Arguments of ``forward`` behind ``x`` and ``edge_index``; the graph has 12 edges.
        in_channels: The width of x where the layer does not say it.

    Example:
        >>> from torch_geometric.nn import GCNConv
        >>> check_adapter(GCNConv(4, 3), None, WEIGHT)
    """
    if x is None:
        width: Any = in_channels or getattr(layer, "in_channels", None)
        assert isinstance(width, int), "give x or in_channels: the layer does not say its width"
        x = torch.randn(6, width, generator=torch.Generator().manual_seed(0))
    layer.eval()
    before = layer(x, EDGES, *further)
    for operator in ("pgso", "mpgso"):
        converted = convert(layer, operator=operator).eval()
        out = converted(x, EDGES, *further)
        _close(out, before, f"{operator}: the converted layer starts as another function")
        names = {name for name, _ in converted.named_parameters()}
        lost = sorted({name for name, _ in layer.named_parameters()} - names)
        assert not lost, f"{operator}: the parameters {', '.join(lost)} are gone"
        gsos = [module for module in converted.modules() if isinstance(module, PGSO)]
        _check_gradients(converted, out, operator)
        gradients = [p.grad for gso in gsos for p in gso.parameters() if p.grad is not None]
        assert any(one.any() for one in gradients), f"{operator}: no scalar of S gets a gradient"
    _close(layer(x, EDGES, *further), before, "convert changed the layer it was given")


def _check_gradients(model: nn.Module, out: Tensor, mode: str) -> None:
    model.zero_grad()
    (out * torch.linspace(-1, 2, out.size(-1))).square().sum().backward()
    gradients = {name: p.grad for name, p in model.named_parameters() if p.requires_grad}
    for name, gradient in gradients.items():
        assert gradient is not None, f"{mode}: {name} gets no gradient"
        assert gradient.isfinite().all(), f"{mode}: the gradient of {name} is not finite"


def _close(one: Tensor, other: Tensor, sentence: str) -> None:
    assert torch.allclose(one, other, atol=1e-5, rtol=1e-4), sentence
