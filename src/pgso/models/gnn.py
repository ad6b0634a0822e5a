"""GNN, GNN-PGSO and GNN-mPGSO: one class, three operator modes (Section 3.3)."""

from collections.abc import Callable, Collection, Sequence
from functools import partial
from numbers import Integral
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn
from torch_geometric.nn import JumpingKnowledge, global_add_pool, global_max_pool, global_mean_pool
from torch_geometric.nn.inits import reset

from pgso.convs import CONVS
from pgso.convs.architecture import OnGraph, by_row
from pgso.convs.sparse_features import Features, Linear, as_features, check_dropout, dropout
from pgso.errors import InputError, UnknownNameError
from pgso.graph import Graph, can_be_read
from pgso.gso.module import PGSO, Shape, operators_on
from pgso.gso.operator import ShiftOperator
from pgso.gso.parameters import Scalar

Operator = Literal["fixed", "pgso", "mpgso"]
Norm = Literal["batch", "layer"]
JumpingMode = Literal["last", "cat", "max", "lstm"]
Pooling = Literal["sum", "mean", "max"]
Decoder = Literal["dot", "bilinear", "mlp"]  # of links

POOLS: dict[str, Callable[..., Tensor]] = {
    "sum": global_add_pool, "mean": global_mean_pool, "max": global_max_pool
}  # fmt: skip


class GNN(nn.Module):
    r"""A stack of graph convolutions whose operator is fixed, learned, or learned layer by layer.

    ``operator="pgso"`` is the paper's :math:`\mathcal{M}'(\gamma(A, \mathcal{S}), X)`, one S for
    all layers; ``"mpgso"`` is :math:`\mathcal{M}''(\gamma^{[K]}(A, \mathcal{S}^{[K]}), X)`, one per
    layer; ``"fixed"`` is the base architecture. At the same seed all three start with the same
    weights, and with the base preset they start as the same function.

    Args:
        conv: The base architecture, a name out of ``pgso list convs``.
        in_channels: Features per node, or -1 to find out on first use.
        hidden_channels: Width of the hidden layers.
        out_channels: Number of classes.
        num_layers: Number of layers (for SGC, of hops).
        operator: ``"fixed"``, ``"pgso"`` or ``"mpgso"``.
        preset: Where S starts: a name or seven numbers; by default the architecture's own.
        learn: Which scalars learn, as in :class:`pgso.PGSO`.
        shape: Of S, as in :class:`pgso.PGSO`; ``"channel"`` and ``"head"`` take the layer's number.
        dropout: Before every layer but the first, and before the read-out.
        input_dropout: Before the first layer; by default as ``dropout``.
        norm: ``"batch"``, ``"layer"`` or None, after every hidden layer.
        residual: Whether a linear map of each layer's input is added to its output.
        jk: Jumping knowledge: ``"last"``, ``"cat"``, ``"max"``, ``"lstm"`` or None.
        task: ``"node"``, or ``"graph"`` to pool: then pass ``batch`` to ``forward``.
        pooling: ``"sum"``, ``"mean"`` or ``"max"`` over the nodes of each graph.
        categories: For integer features: how many values each column has; they are embedded.
        **conv_options: Further arguments of the conv: ``heads`` and ``attention_dropout`` of GAT,
            ``terms`` of a bank, ``K`` and ``basis`` of a filter.

    Example:
        >>> model = GNN("gcn", 8, 16, 3, operator="mpgso")
        >>> len(model.operators)
        2
    """

    def __init__(
        self,
        conv: str,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int = 2,
        operator: Operator = "pgso",
        preset: str | Sequence[Scalar] | None = None,
        learn: bool | Collection[str] = True,
        shape: Shape = "scalar",
        dropout: float = 0.5,
        input_dropout: float | None = None,
        norm: Norm | None = None,
        residual: bool = False,
        jk: JumpingMode | None = None,
        task: Literal["node", "graph"] = "node",
        pooling: Pooling = "sum",
        categories: Sequence[int] | None = None,
        **conv_options: Any,
    ) -> None:
        super().__init__()
        for name, given, allowed in (
            ("operator", operator, get_args(Operator)),
            ("task", task, ("node", "graph")),
            ("pooling", pooling, tuple(POOLS)),
            ("norm", norm, (None, *get_args(Norm))),
            ("jk", jk, (None, *get_args(JumpingMode))),
        ):
            if given not in allowed:
                raise UnknownNameError(name, given, filter(None, allowed))
        channels = {"in": in_channels, "hidden": hidden_channels, "out": out_channels}
        for name, width in channels.items():
            if not isinstance(width, Integral):
                raise InputError(f"{name}_channels must be an integer, got {width!r}")
        if not isinstance(num_layers, int) or num_layers < 1:
            raise InputError(f"num_layers must be an integer of at least 1, got {num_layers}")
        self.task, self.pooling, self.dropout = task, pooling, dropout
        self.input_dropout = dropout if input_dropout is None else input_dropout
        check_dropout("dropout", dropout)
        check_dropout("input_dropout", self.input_dropout)

        conv_class = CONVS[conv]
        learned = learn if operator != "fixed" else False
        self.encoder = None
        if categories is not None:
            self.encoder = CategoryEncoder(categories, hidden_channels)
            in_channels = hidden_channels
        # Without jumping knowledge the last layer of a node task gives the class scores itself.
        reads_out = task == "graph" or jk is not None or conv_class.reads_out
        last = hidden_channels if reads_out else out_channels
        widths = [*[hidden_channels] * (num_layers - 1), last]
        propagated = [last] * num_layers if conv_class.collapses else widths
        sized: list[Shape] = [shape] * num_layers
        if shape == "head":
            sized = [("head", conv_options.get("heads", 1))] * num_layers
        elif shape == "channel":
            sized = [("channel", width) for width in propagated]
        named = {"terms": conv_options["terms"]} if "terms" in conv_options else {}
        make = partial(conv_class.make_operators, preset, **named)
        if operator == "mpgso":
            by_layer = [make(learned, size) for size in sized]
        else:
            if len(set(sized)) > 1 and learned:
                raise InputError(
                    f"layers of widths {', '.join(map(str, propagated))} cannot share an S per "
                    "channel; take one per layer with operator='mpgso'"
                )
            by_layer = [make(learned, sized[0] if learned else "scalar")] * num_layers
        gsos: Sequence[Any] = by_layer
        if conv_class.collapses:  # one operator a hop
            widths, gsos = [last], [[gso for made in by_layer for gso in made]]
        elif not conv_class.takes_terms:
            gsos = [gso for (gso,) in by_layer]
        self.layers = nn.ModuleList()
        for depth, (width, gso) in enumerate(zip(widths, gsos, strict=True)):
            hidden = reads_out or depth < len(widths) - 1
            made = conv_class.layer(in_channels, width, gso, to_output=not hidden, **conv_options)
            self.layers.append(Layer(made, in_channels, width, hidden, norm, residual))
            in_channels = width
        self.jump = None
        if jk not in (None, "last"):
            self.jump = JumpingKnowledge(jk, hidden_channels, len(widths))
        read = hidden_channels * len(widths) if jk == "cat" else hidden_channels
        self.head = Linear(read, out_channels) if reads_out else None

    @property
    def operators(self) -> tuple[PGSO, ...]:
        """The PGSO modules in layer order: a shared one appears once."""
        return tuple(
            dict.fromkeys(gso for layer in self.layers for gso in layer.conv.operators)  # type: ignore[union-attr]
        )

    def reset_parameters(self) -> None:
        """Draw new weights; operators go back to where they started."""
        for module in self.children():
            reset(module)

    def forward(
        self,
        x: Features,  # (n, in_channels)
        graph: Graph | Tensor | dict[PGSO, ShiftOperator],
        edge_weight: Tensor | None = None,  # (E,)
        batch: Tensor | None = None,  # (n,) the graph of each node
        num_graphs: int | None = None,
    ) -> Tensor:  # (n, out_channels), or (num_graphs, out_channels) for task="graph"
        """Class scores (logits) of every node, or of every graph.

        In place of the graph, the operators on it (``operators_on``) may be handed over.
        """
        x = as_features(x)
        if self.encoder is not None:
            x = self.encoder(x)
        operators: dict[PGSO, ShiftOperator] = {}  # one for each distinct S
        if isinstance(graph, dict):
            operators = graph
        elif not (torch.compiler.is_compiling() or any(gso.explain for gso in self.operators)):
            operators = operators_on(self.operators, graph, edge_weight, x.size(-2))
        outputs: list[Tensor] = []
        for depth, layer in enumerate(self.layers):
            p = self.dropout if depth else self.input_dropout
            x = dropout(x, p, self.training)
            if operators:
                handed = tuple(operators[gso] for gso in layer.conv.operators)  # type: ignore[union-attr]
                outputs.append(layer(x, handed[0] if len(handed) == 1 else handed, None))
            else:
                outputs.append(layer(x, graph, edge_weight))
            x = outputs[-1]
        out = outputs[-1] if self.jump is None else self.jump(outputs)
        if self.task == "graph":
            if batch is None:
                batch, num_graphs = torch.zeros_like(out[:, 0], dtype=torch.long), 1
            if batch.size(0) != out.size(0):
                raise InputError(
                    f"batch must name the graph of each of the {out.size(0)} nodes, "
                    f"got {batch.size(0)} numbers"
                )
            out = POOLS[self.pooling](out, batch.to(out.device), num_graphs)
        if self.head is not None:
            out = self.head(dropout(out, self.dropout, self.training))
        return out


class Layer(nn.Module):
    """A conv, with a residual map, a norm and a ReLU where the network has them."""

    def __init__(
        self,
        conv: nn.Module,
        in_channels: int,
        out_channels: int,
        hidden: bool,
        norm: Norm | None,
        residual: bool,
    ) -> None:
        super().__init__()
        self.conv = conv
        self.residual = Linear(in_channels, out_channels, bias=False) if residual else None
        self.norm: nn.Module | None = None
        if hidden and norm is not None:
            self.norm = (nn.BatchNorm1d if norm == "batch" else nn.LayerNorm)(out_channels)
        self.hidden = hidden

    def forward(self, x: Features, graph: OnGraph, edge_weight: Tensor | None = None) -> Tensor:
        """σ(norm(conv(x) + x Wᵣ)); the output layer has neither norm nor σ."""
        return self.after(self.conv(x, graph, edge_weight), x)

    def after(self, out: Tensor, x: Features) -> Tensor:
        """Everything that follows the conv, node by node."""
        if self.residual is not None:
            out = out + self.residual(x)
        if self.norm is not None:
            out = by_row(self.norm, out)
        return out.relu() if self.hidden else out


class CategoryEncoder(nn.Module):
    """The sum of one learned vector per column, as OGB embeds its nine atom features."""

    offsets: Tensor

    def __init__(self, categories: Sequence[int], out_channels: int) -> None:
        super().__init__()
        starts = torch.tensor([0, *categories[:-1]]).cumsum(0)
        self.register_buffer("offsets", starts, persistent=False)
        self.categories = tuple(categories)
        self.vectors = nn.EmbeddingBag(sum(categories), out_channels, mode="sum")
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new vectors."""
        nn.init.xavier_uniform_(self.vectors.weight)

    def forward(self, x: Tensor) -> Tensor:  # (n, columns) of integers -> (n, out_channels)
        """Look up and sum; what would look up the vector of something else is refused."""
        columns = len(self.categories)
        if x.dim() != 2 or x.size(1) != columns or x.is_floating_point():
            raise InputError(
                f"categories must be integers of shape (n, {columns}), "
                f"got {x.dtype} of shape {tuple(x.shape)}"
            )
        ends = () if not can_be_read(x) or not x.numel() else (x.amin(0), x.amax(0))
        for column, (low, high) in enumerate(zip(*(end.tolist() for end in ends), strict=True)):
            if low < 0 or high >= self.categories[column]:
                raise InputError(
                    f"column {column} has {self.categories[column]} categories, counted from 0; "
                    f"got {low if low < 0 else high}"
                )
        return self.vectors(x + self.offsets)


class LinkModel(nn.Module):
    r"""Scores of pairs of nodes from the embeddings :math:`z` of a GNN (Kipf & Welling 2016).

    The outputs of the encoder, a node model, are the embeddings, of so many channels. The decoder
    ``"dot"`` is :math:`z_i^\top z_j`, ``"bilinear"`` is :math:`z_i^\top W z_j`, which tells source
    and target apart, and ``"mlp"`` a perceptron of :math:`z_i \circ z_j`.

    Example:
        >>> model = LinkModel(GNN("gcn", 8, 16, 16), 16)
        >>> path = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
        >>> model(torch.randn(3, 8), path, pairs=torch.tensor([[0, 1], [0, 2]])).shape
        torch.Size([2])
    """

    task = "link"

    def __init__(self, encoder: GNN, channels: int, decoder: Decoder = "dot") -> None:
        super().__init__()
        if decoder not in get_args(Decoder):
            raise UnknownNameError("decoder", decoder, get_args(Decoder))
        self.encoder, self.kind = encoder, decoder
        self.decoder: Any = None
        if decoder == "bilinear":
            self.decoder = nn.Linear(channels, channels, bias=False)
        elif decoder == "mlp":
            hidden = nn.Linear(channels, channels), nn.ReLU()
            self.decoder = nn.Sequential(*hidden, nn.Linear(channels, 1))

    @property
    def operators(self) -> tuple[PGSO, ...]:
        """The PGSO modules of the encoder, in layer order."""
        return self.encoder.operators

    def reset_parameters(self) -> None:
        """Draw new weights; operators go back to where they started."""
        reset(self.encoder)
        reset(self.decoder)

    def decode(
        self,
        z: Tensor,  # (n, channels)
        pairs: Tensor,  # (..., 2) sources and targets
    ) -> Tensor:  # (...)
        """How much speaks for a link (logits)."""
        source, target = (z.index_select(0, ends.flatten()) for ends in pairs.unbind(-1))
        if self.kind == "bilinear":
            source = self.decoder(source)
        product = source * target
        scores: Tensor = self.decoder(product) if self.kind == "mlp" else product.sum(dim=-1)
        return scores.view(pairs.shape[:-1])

    def forward(self, x: Features, graph: Graph | Tensor, pairs: Tensor) -> Tensor:
        """Scores of pairs, (..., 2) to (...)."""
        return self.decode(self.encoder(x, graph), pairs)
