"""Section 3.3: the operator as a module whose seven scalars are trained with the network."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any, NoReturn

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor, nn
from torch_geometric.nn import MessagePassing

from pgso.errors import InputError, UnknownNameError
from pgso.graph import Graph, Relations
from pgso.graph.graph import once
from pgso.graph.inputs import check_reversible
from pgso.gso.node_shift import OnPattern
from pgso.gso.operator import Features, ShiftOperator
from pgso.gso.parameters import NAMES, PGSOParameters, Scalar
from pgso.gso.shift import DEGREES, check_one_set, graph_for, num_nodes_of, unchecked_shift

Shape = str | tuple[str, int]


STEPS = ("propagate", "message", "aggregate", "message_and_aggregate")  # PyG's, with hooks


class WithoutMessages:
    """A layer that sends no messages; it comes before PyG's class and refuses hooks on them."""

    _edge_mask: Tensor | None
    _apply_sigmoid: bool

    def edge_mask(self) -> Tensor:  # (E,)
        """What an explainer multiplies the messages with."""
        assert self._edge_mask is not None
        return self._edge_mask.sigmoid() if self._apply_sigmoid else self._edge_mask

    def _refuse(self, hook: Any) -> NoReturn:
        del hook
        raise InputError(
            f"{type(self).__name__}: no messages are sent that a hook on it could see; "
            "register_forward_hook sees what goes in and comes out"
        )


for _step in STEPS:
    for _when in ("forward", "forward_pre"):
        setattr(WithoutMessages, f"register_{_step}_{_when}_hook", WithoutMessages._refuse)


class EdgeMasking(WithoutMessages, MessagePassing):
    """A layer whose edges PyG's explainers (GNNExplainer, CaptumExplainer) can mask.

    They find layers by this base class and set ``explain`` and ``_edge_mask`` on them. The mask
    multiplies γ's off-diagonal entries; degrees stay as in the whole graph. PyG's own ``__init__``
    is not called: it would write a file of code for messages that are never sent.
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
        self._edge_mask = None
        self._loop_mask: Tensor | None = None
        self._apply_sigmoid = True

    def masked(self, entries: Tensor, graph: Graph, edge_index: Any) -> Tensor:
        """Entries (nnz,) or (nnz, H) times the mask of their edges; never the diagonal's."""
        mask = self.edge_mask()
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


class PGSO(EdgeMasking):
    """A graph shift operator γ(A, S), learned, fixed, or learned in part.

    One module in several layers is the paper's PGSO (they share S); one module per layer is mPGSO.

    Args:
        S: Where the scalars start: the name of a preset, or seven numbers.
        learn: ``True`` for all seven, ``False`` for none, or the names of those that learn.
        shape: ``"scalar"``; a value per node, ``("node", n)``, channel, ``("channel", F)``, or
            head, ``("head", H)``, all of which start equal; or ``"structural"``: a value per node
            that a small network finds from the node's place, on any graph.
        degrees: ``"row"``: powers of row sums, as in the paper; ``"both"``: e2 acts on row sums, e3
            on column sums. They are the same on undirected graphs.
        edges: On which edges it acts: all as they are (None or ``"in"``), all reversed
            (``"out"``), or the edges of one relation of a :class:`pgso.Relations`.

    Example:
        >>> PGSO("gcn", learn=("m2", "a"))
        PGSO(m1=0, m2=1, m3=0, e1=0, e2=-0.5, e3=-0.5, a=1, learn=m2,a)
    """

    m1: Tensor
    m2: Tensor
    m3: Tensor
    e1: Tensor
    e2: Tensor
    e3: Tensor
    a: Tensor
    moves: Tensor
    kind: str  # of shape
    commutes: bool  # whether γ (X W) = (γ X) W: not where each channel has its own operator

    def __init__(
        self,
        S: str | Sequence[Scalar] | Tensor = "gcn",
        learn: bool | Collection[str] = True,
        shape: Shape = "scalar",
        degrees: str = "row",
        edges: str | None = None,
    ) -> None:
        super().__init__()
        if degrees not in DEGREES:
            raise UnknownNameError("degrees", degrees, DEGREES)
        self.degrees, self.edges, self.shape = degrees, edges, shape
        self.start = PGSOParameters.of(S).as_floats()
        wanted = learn if not isinstance(learn, bool) else NAMES if learn else ()
        wanted = (wanted,) if isinstance(wanted, str) else wanted
        if not isinstance(wanted, Collection):
            raise InputError(
                f"learn takes True, False or names out of {', '.join(NAMES)}, got {learn!r}"
            )
        for name in wanted:
            if name not in NAMES:
                raise UnknownNameError("parameter", name, NAMES)
        self.learned = tuple(name for name in NAMES if name in wanted)
        size: tuple[int, ...] = ()  # of each parameter, so that it broadcasts against (n, F)
        match shape:
            case "scalar" | "structural":
                self.kind = shape
            case ("node" | "channel" | "head" as kind, int(count)) if count >= 1:
                self.kind, size = kind, (count, 1) if kind == "node" else (1, count)
            case _:
                raise InputError(
                    'shape must be "scalar", "structural", ("node", n), ("channel", F) or '
                    f'("head", H), got {shape!r}'
                )
        self.commutes = self.kind not in ("channel", "head")
        for name, value in zip(NAMES, self.start, strict=True):
            values = torch.full(size, float(value))
            if name in self.learned:
                self.register_parameter(name, nn.Parameter(values))
            else:
                self.register_buffer(name, values)
        self.network = None
        if self.kind == "structural" and self.learned:
            self.network = StructuralNetwork()
            moves = torch.tensor([name in self.learned for name in NAMES]).view(-1, 1, 1)
            self.register_buffer("moves", moves, persistent=False)

    def reset_parameters(self) -> None:
        """Go back to where the values started."""
        with torch.no_grad():
            for name, value in zip(NAMES, self.start, strict=True):
                getattr(self, name).fill_(value)
        if self.network is not None:
            self.network.reset_parameters()

    @property
    def S(self) -> Tensor:  # (7,), (7, n, 1), (7, 1, F) or (7, 1, H)
        """The current S as one tensor, attached to the parameters; S[k] broadcasts against x."""
        return torch.stack([getattr(self, name) for name in NAMES])

    def S_on(self, graph: Graph) -> Tensor:
        """The S of this graph: other than ``S`` only where a network finds it."""
        if self.network is None:
            return self.S
        check_one_set(graph)
        S: Tensor = self.S.view(-1, 1, 1) + self.moves * self.network(graph)
        return S

    def parameters_tuple(self) -> PGSOParameters:
        """The current S as plain floats: means where there are many values."""
        S = self.S.detach()
        return PGSOParameters(*(S if S.dim() == 1 else S.flatten(1).mean(1)).tolist())

    def on(
        self,
        graph: Graph | Relations | Tensor,
        edge_weight: Tensor | None = None,  # (E,), with an edge_index only
        masked: bool = True,
        num_nodes: int | tuple[int, int] | None = None,
    ) -> OnPattern:
        """γ(A, S) on a :class:`pgso.Graph`, an ``edge_index`` or a sparse A, as a value.

        It has the S of this moment. Layers that share S are handed the same operator, so that what
        depends on S and the graph is computed once. ``masked``: with an explainer's mask, if any.
        """
        given: Any = graph
        if isinstance(graph, Relations):
            given = graph.part(None if self.edges in ("in", "out") else self.edges)
        elif self.edges not in (None, "in", "out"):
            raise InputError(
                f"this operator acts on the relation {self.edges!r}, but the graph has no relations"
            )
        graph = Graph.of(given, edge_weight, num_nodes)
        if self.edges == "out":
            check_reversible(graph)
            graph = graph.T
            if isinstance(given, Tensor) and given.layout == torch.strided:
                given = given.flip(0)
            elif isinstance(given, Graph):
                given = given.edge_index.flip(0)  # in the order of a mask
        S = self.S if self.network is None else self.S_on(graph)
        per_head, fixed = self.kind == "head", not self.learned
        operator = unchecked_shift(graph, S, self.degrees, per_head, fixed)
        if not self.explain or not masked:
            return operator
        return operator.but(values=self.masked(graph.entries, graph, given))

    def forward(
        self,
        x: Features,  # (n, F), (n,) or (..., n, F), or a pair (x_source, x_target)
        graph: Graph | ShiftOperator | Tensor,
        edge_weight: Tensor | None = None,  # (E,), with an edge_index only
    ) -> Tensor:  # of x's shape
        """γ(A, S) x: see :func:`pgso.apply_pgso`. An operator from ``on`` is applied as it is."""
        if not isinstance(graph, ShiftOperator):
            graph = operators_on((self,), graph, edge_weight, num_nodes_of(x))[self]
        return graph.times(x)

    def to_torch_sparse(self, graph: Graph | Tensor, edge_weight: Tensor | None = None) -> Tensor:
        """γ(A, S) as a torch.sparse COO matrix, differentiable in S, to hand to others."""
        return self.on(graph, edge_weight).to_torch_sparse()

    def extra_repr(self) -> str:
        """The current values, and which of them learn."""
        words = [f"{name}={v:.4g}" for name, v in self.parameters_tuple()._asdict().items()]
        usual = {"shape": "scalar", "degrees": "row", "edges": None}
        chosen = {name: getattr(self, name) for name in usual}
        words += [f"{name}={value!r}" for name, value in chosen.items() if value != usual[name]]
        if len(self.learned) < len(NAMES):
            words.append(f"learn={','.join(self.learned) or False}")
        return ", ".join(words)


def operators_on(
    gsos: Iterable[PGSO],
    graph: Any,
    edge_weight: Tensor | None,  # (E,), with an edge_index only
    num_nodes: int | tuple[int, int] | None,
    masked: bool = True,
) -> dict[PGSO, ShiftOperator]:
    """One operator for each distinct S on a graph that is prepared once."""
    distinct = dict.fromkeys(gsos)
    if not masked or not any(gso.explain for gso in distinct):
        graph, edge_weight = graph_for(num_nodes, graph, edge_weight), None
    # else as it is: an explainer's mask is for the edges as given
    return {gso: gso.on(graph, edge_weight, masked, num_nodes) for gso in distinct}


HIDDEN = 16
DAMPING, ROUNDS = 0.85, 50  # of PageRank: 0.85^50 of the start is left


class StructuralNetwork(nn.Module):
    """What is added to the seven scalars at each node: zeros at first, as its last layer is 0."""

    def __init__(self) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):  # fixed and learned networks draw the same weights
            self.hidden = nn.Linear(3, HIDDEN)
            self.out = nn.Linear(HIDDEN, len(NAMES))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the hidden layer anew; the output is zero again."""
        with torch.random.fork_rng(devices=[]):
            self.hidden.reset_parameters()
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, graph: Graph) -> Tensor:  # (7, n, 1)
        """S of every node, from its structural features."""
        features = structural_features(graph).to(self.hidden.weight.dtype)
        out: Tensor = self.out(self.hidden(features).tanh())
        return out.t().unsqueeze(-1)


@once
def structural_features(graph: Graph) -> Tensor:  # (n, 3)
    """Log-degree, clustering coefficient and n times PageRank, computed once for a graph.

    They are taken without weights, directions and self-loops. Triangles are counted by a sparse
    product: O(Σ d²).
    """
    if graph.sample is not None:  # a sampled node has the features that it has in the whole graph
        whole = structural_features(graph.sample.graph)
        return whole.index_select(0, graph.sample.nodes).to(graph.device)
    n = graph.num_nodes
    row, col = (part.numpy(force=True) for part in (graph.pattern.row, graph.pattern.col))
    one_way = csr_array((np.ones(len(row)), (row, col)), shape=(n, n))
    A = one_way + one_way.T
    A.setdiag(0)
    A.eliminate_zeros()
    A.data[:] = 1
    d = A.sum(axis=1)
    triangles = np.asarray((A @ A).multiply(A).sum(axis=1)).ravel()
    clustering = triangles / np.maximum(d * (d - 1), 1)
    importance = np.ones(n)
    for _ in range(ROUNDS):  # nodes without neighbours keep it
        passed_on = A @ (importance / np.maximum(d, 1)) + np.where(d == 0, importance, 0)
        importance = 1 - DAMPING + DAMPING * passed_on
    columns = np.stack([np.log1p(d), clustering, importance], axis=1)
    return torch.from_numpy(columns).float().to(graph.device)
