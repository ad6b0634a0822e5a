"""``fold``: the learned S as constants in plain message passing, for serving."""

import copy
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.nn import MessagePassing

from pgso.errors import InputError
from pgso.gso.dense import factors
from pgso.gso.module import PGSO


class FoldedOperator(MessagePassing):
    """γ(A, S) x with constant S, Equation (2) message by message; nothing is prepared or learned.

    It takes an ``edge_index`` only, and traces under ``torch.export`` with any n and E.

    Args:
        S: The seven scalars, kept as a buffer.

    Example:
        >>> path = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
        >>> FoldedOperator((1, -1, 0, 1, 0, 0, 0))(torch.tensor([[1.], [2.], [4.]]), path).flatten()
        tensor([-1., -1.,  2.])
    """

    S: Tensor
    commutes = True  # with the linear map of a layer: one S for all channels

    def __init__(self, S: Tensor | tuple[float, ...]) -> None:
        super().__init__(aggr="sum")
        if not isinstance(S, Tensor):
            S = torch.tensor(S, dtype=torch.get_default_dtype())
        self.register_buffer("S", S.detach().clone())

    def forward(
        self,
        x: Tensor,  # (..., n, F)
        edge_index: Tensor,  # (2, E)
        edge_weight: Tensor | None = None,  # (E,)
    ) -> Tensor:  # of x's shape
        """γ x."""
        if not isinstance(edge_index, Tensor) or edge_index.layout != torch.strided:
            raise InputError("a folded model takes an edge_index of shape (2, E)")
        dtype = torch.float64 if x.dtype == torch.float64 else torch.float32
        *_, a = values = self.S.to(dtype).unbind()
        source, target = edge_index[0], edge_index[1]
        ones = torch.ones_like(source, dtype=dtype)
        weight = ones if edge_weight is None else edge_weight.to(dtype)
        d_a = weight.new_zeros(x.size(-2)).index_add(0, target, weight) + a
        left, right, own = factors(values, d_a)
        own = own + left * right * a
        norm = (left[target] * weight * right[source]).to(x.dtype)
        out: Tensor = self.propagate(edge_index, x=x, norm=norm)
        return out + own.to(x.dtype).unsqueeze(-1) * x

    def S_on(self, graph: Any) -> Tensor:  # (7,)
        """S, which is the same on every graph."""
        del graph
        return self.S

    def message(self, x_j: Tensor, norm: Tensor) -> Tensor:
        """One entry of γ times the source's features."""
        return norm.unsqueeze(-1) * x_j

    def extra_repr(self) -> str:
        """The constants."""
        return ", ".join(f"{value:.4g}" for value in self.S.tolist())

    __repr__ = nn.Module.__repr__


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
        >>> [type(m).__name__ for m in folded.modules() if isinstance(m, MessagePassing)]
        ['GCNConv', 'FoldedOperator', 'GCNConv']
    """
    if not isinstance(model, nn.Module):
        raise InputError(f"fold takes a torch module, got {type(model).__name__}")
    folded = nn.ModuleList([copy.deepcopy(model)])  # in a list: it may be an operator itself
    constants: dict[PGSO, FoldedOperator] = {}
    for module in list(folded.modules()):
        for name, child in list(module._modules.items()):
            if isinstance(child, PGSO):
                if child.kind != "scalar":
                    raise InputError(f"fold takes scalar operators, not a {child.kind} one")
                if child not in constants:
                    constants[child] = FoldedOperator(child.S)
                setattr(module, name, constants[child])
    if not constants:
        raise InputError(
            f"there is no operator to fold in this {type(model).__name__}; "
            "fold takes a GNN or a model that pgso.convert returned"
        )
    return folded[0].eval()
