"""Objectives of links: which of several pairs of nodes is one?"""

from typing import TYPE_CHECKING

from pgso.objectives.objective import Objective

if TYPE_CHECKING:
    from torch import Tensor


class Link(Objective):
    """Pairs of nodes: in a row of ``out`` the first is a link, and the others are not.

    ``y`` is the place of the link in its row, always 0: the scores need no more than ``out``.
    """

    answer = "link"

    def loss(
        self,
        out: "Tensor",  # (n, 1 + m)
        y: "Tensor",
        weight: "Tensor | None" = None,
        reduction: str = "mean",
    ) -> "Tensor":
        """Binary cross-entropy of the link and of those that are none, half and half."""
        from pgso.objectives import losses

        return losses.one_of_two(out, reduction)
