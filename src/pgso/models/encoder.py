"""Integer node features, such as kinds of atoms, as learned vectors."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from pgso.errors import InputError


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
        self.categories = tuple(categories)
        self.vectors = nn.EmbeddingBag(sum(categories), out_channels, mode="sum")
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new vectors."""
        nn.init.xavier_uniform_(self.vectors.weight)

    def forward(self, x: Tensor) -> Tensor:  # (n, columns) of integers -> (n, out_channels)
        """Look up and sum."""
        if not torch.compiler.is_compiling():
            self._check(x)
        out: Tensor = self.vectors(x + self.offsets)
        return out

    def _check(self, x: Tensor) -> None:
        """Refuse what would look up the vector of something else."""
        columns = len(self.categories)
        if x.dim() != 2 or x.size(1) != columns or x.is_floating_point():
            raise InputError(
                f"categories must be integers of shape (n, {columns}), "
                f"got {x.dtype} of shape {tuple(x.shape)}"
            )
        if x.numel() == 0:
            return
        for column, (low, high) in enumerate(
            zip(x.amin(0).tolist(), x.amax(0).tolist(), strict=True)
        ):
            if low < 0 or high >= self.categories[column]:
                raise InputError(
                    f"column {column} has {self.categories[column]} categories, counted from 0; "
                    f"got {low if low < 0 else high}"
                )
