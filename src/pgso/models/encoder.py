"""Integer node features, such as kinds of atoms, as learned vectors."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn


class CategoryEncoder(nn.Module):
    """The sum of one learned vector per column, as OGB embeds its nine atom features.

    Example:
        >>> CategoryEncoder([119, 4], 8)(torch.tensor([[6, 0], [8, 3]])).shape
        torch.Size([2, 8])
    """

    offsets: Tensor

    def __init__(self, categories: Sequence[int], out_channels: int) -> None:
        super().__init__()
        starts = torch.tensor([0, *categories[:-1]]).cumsum(0)
        self.register_buffer("offsets", starts, persistent=False)
        self.vectors = nn.EmbeddingBag(sum(categories), out_channels, mode="sum")
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new vectors."""
        nn.init.xavier_uniform_(self.vectors.weight)

    def forward(self, x: Tensor) -> Tensor:  # (n, columns) of integers -> (n, out_channels)
        """Look up and sum."""
        out: Tensor = self.vectors(x + self.offsets)
        return out
