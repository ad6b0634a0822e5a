"""``fold``: the learned S as constants, for serving."""

import copy

import torch
from torch import nn

from pgso.convs.filter import NormalisedPGSO
from pgso.errors import InputError
from pgso.gso.module import PGSO
from pgso.gso.parameters import NAMES


def fold(model: nn.Module) -> nn.Module:
    """A copy for inference in which every operator is constant: same outputs, nothing of S learns.

    Layers keep their place and their weights. The copy is in eval mode. No layer of PyG holds a
    general S, so a pickle of it needs pgso; ``torch.export`` makes a program of it that needs
    neither pgso nor PyG.

    Args:
        model: A ``GNN``, a converted model, or any module with operators in it.

    Example:
        >>> from pgso import GNN
        >>> folded = fold(GNN("gcn", 8, 16, 3))
        >>> [sum(1 for _ in gso.parameters()) for gso in folded.operators]
        [0]
    """
    if not isinstance(model, nn.Module):
        raise InputError(f"fold takes a torch module, got {type(model).__name__}")
    folded = nn.ModuleList([copy.deepcopy(model)])  # in a list: it may be an operator itself
    constants: dict[PGSO, PGSO] = {}
    for module in list(folded.modules()):
        for name, child in list(module._modules.items()):
            if isinstance(child, PGSO):
                if child.kind != "scalar":
                    raise InputError(f"fold takes scalar operators, not a {child.kind} one")
                if child not in constants:
                    constants[child] = _fixed(child)
                setattr(module, name, constants[child])
    if not constants:
        raise InputError(
            f"there is no operator to fold in this {type(model).__name__}; "
            "fold takes a GNN or a model that pgso.convert returned"
        )
    return folded[0].eval()


def _fixed(gso: PGSO) -> PGSO:
    """The operator with its S as buffers."""
    if isinstance(gso, NormalisedPGSO):  # a filter knows by its type that it needs no scaling
        fixed: PGSO = NormalisedPGSO(learn=False)
    else:
        fixed = PGSO(gso.S.detach(), learn=False, degrees=gso.degrees, edges=gso.edges)
    fixed.to(gso.m1.device, gso.m1.dtype)
    with torch.no_grad():  # exact copies, in their own type
        for name in NAMES:
            getattr(fixed, name).copy_(getattr(gso, name))
    return fixed
