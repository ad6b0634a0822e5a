"""Links from embeddings: a GNN that says where nodes are, and a decoder that joins two of them."""

from typing import Any, Literal, get_args

from torch import Tensor, nn

from pgso.convs.sparse_features import Features
from pgso.errors import UnknownNameError
from pgso.graph import Graph
from pgso.gso.module import PGSO
from pgso.models.gnn import GNN

Decoder = Literal["dot", "bilinear", "mlp"]


class LinkModel(nn.Module):
    r"""Scores of pairs of nodes from the embeddings :math:`z` of a GNN (Kipf & Welling 2016).

    ``"dot"`` is :math:`z_i^\top z_j`, ``"bilinear"`` is :math:`z_i^\top W z_j`, which tells source
    and target apart, and ``"mlp"`` a perceptron of :math:`z_i \circ z_j`.

    Args:
        encoder: A node model; its outputs are the embeddings.
        channels: How many outputs it has.
        decoder: ``"dot"``, ``"bilinear"`` or ``"mlp"``.

    Example:
        >>> import torch
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
        self.encoder.reset_parameters()
        for module in () if self.decoder is None else self.decoder.modules():
            if isinstance(module, nn.Linear):
                module.reset_parameters()

    def embed(self, x: Features, graph: Graph | Tensor) -> Tensor:  # (n, channels)
        """Where every node is."""
        return self.encoder(x, graph)

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
        return self.decode(self.embed(x, graph), pairs)
