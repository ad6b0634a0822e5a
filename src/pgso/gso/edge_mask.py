"""Masks of PyG's explainers, one number per edge: they multiply the entries of γ."""

from typing import Any, NoReturn

import torch
from torch import Tensor, nn
from torch_geometric.nn import MessagePassing

from pgso.errors import InputError
from pgso.graph import Graph

STEPS = ("propagate", "message", "aggregate", "message_and_aggregate")  # PyG's, with hooks


class WithoutMessages:
    """A layer that sends no messages; it comes before PyG's class and refuses hooks on them."""

    def _refuse(self, hook: Any) -> NoReturn:
        """What PyG's methods that register such hooks do here."""
        del hook
        raise InputError(
            f"{type(self).__name__}: no messages are sent that a hook on it could see; "
            "register_forward_hook sees what goes in and comes out"
        )

    register_propagate_forward_hook = register_propagate_forward_pre_hook = _refuse
    register_message_forward_hook = register_message_forward_pre_hook = _refuse
    register_aggregate_forward_hook = register_aggregate_forward_pre_hook = _refuse
    register_message_and_aggregate_forward_hook = _refuse
    register_message_and_aggregate_forward_pre_hook = _refuse


class EdgeMasking(WithoutMessages, MessagePassing):
    """A layer whose edges PyG's explainers (GNNExplainer, CaptumExplainer) can mask.

    They find layers by this base class and set ``explain`` and ``_edge_mask`` on them. We do not
    send messages, so the mask multiplies γ's off-diagonal entries instead; degrees stay as in
    the whole graph. PyG's own ``__init__`` is not called: it would write a generated module to the
    temporary folder, for messages that are never sent.
    """

    __repr__ = nn.Module.__repr__
    __setstate__ = nn.Module.__setstate__
    register_edge_update_forward_hook = WithoutMessages._refuse
    register_edge_update_forward_pre_hook = WithoutMessages._refuse
    explain: bool | None = None  # in PyG a property that looks at signatures of messages

    def __init__(self) -> None:
        nn.Module.__init__(self)
        self.aggr, self.aggr_module = None, None  # nothing is sent, nothing aggregated
        self.flow, self.node_dim = "source_to_target", -2
        self._decomposed_layers = 1
        self._edge_mask: Tensor | None = None
        self._loop_mask: Tensor | None = None
        self._apply_sigmoid = True

    def masked(self, entries: Tensor, graph: Graph, edge_index: Any) -> Tensor:
        """Entries (nnz,) or (nnz, H) times the mask of their edges; never the diagonal's."""
        assert self._edge_mask is not None
        mask = self._edge_mask.sigmoid() if self._apply_sigmoid else self._edge_mask
        if isinstance(edge_index, Graph):
            edge_index = edge_index.edge_index
        if mask.numel() != edge_index.size(1):
            raise InputError(
                f"the explainer masks {mask.numel()} edges, the graph has {edge_index.size(1)}"
            )
        pattern, columns = graph.pattern, graph.shape[1]
        source, target = edge_index
        places = pattern.row.long() * columns + pattern.col.long()
        wanted = target.long() * columns + source.long()
        entry_of = torch.searchsorted(places, wanted).clamp(max=max(places.numel() - 1, 0))
        has_entry = places[entry_of] == wanted  # an edge of weight 0 may have none
        # Entries hold merged edges: their mask is the mean over the duplicates.
        if not graph.is_bipartite:
            mask = torch.where(source == target, 1, mask)
        mask, entry_of = mask[has_entry].to(entries.dtype), entry_of[has_entry]
        none = torch.zeros_like(pattern.row, dtype=entries.dtype)
        count = none.index_add(0, entry_of, torch.ones_like(mask))
        whole = torch.where(count > 0, none.index_add(0, entry_of, mask) / count.clamp(min=1), 1)
        return entries * whole.view(-1, *[1] * (entries.dim() - 1))
