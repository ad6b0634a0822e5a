"""SGC-PGSO: simplified graph convolution (docs/conventions.md)."""

from collections.abc import Sequence

from torch import Tensor, nn

from pgso.convs.architecture import CONVS, Conv, OnGraph, as_operator, transform_and_propagate
from pgso.convs.sparse_features import Features, Linear
from pgso.errors import InputError
from pgso.gso.module import PGSO


@CONVS.register("sgc")
class SGConv(Conv):
    r"""K hops and one linear map.

    .. math::
        H = \gamma(A, \mathcal{S}^{K}) \cdots \gamma(A, \mathcal{S}^{1})\, X W

    With the preset ``"gcn"`` and ``learn=False`` this is PyG's ``SGConv``.

    Args:
        in_channels: Features per node, or -1 to find out on first use.
        gso: One operator for all hops (PGSO), or a sequence of K of them (mPGSO).
        K: The number of hops; with a sequence, its length.
    """

    preset = "gcn"
    collapses = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        gso: PGSO | Sequence[PGSO] | str | None = None,
        K: int | None = None,
        bias: bool = True,
    ) -> None:
        if K is not None and (not isinstance(K, int) or K < 1):
            raise InputError(f"K, the number of hops, must be an integer of at least 1, got {K}")
        if isinstance(gso, (list, tuple)):
            hops = [as_operator(hop_gso, self.preset) for hop_gso in gso]
        else:
            hops = [as_operator(gso, self.preset)] * (K or 1)  # type: ignore[arg-type]
        if not hops or (K is not None and len(hops) != K):
            raise InputError(f"SGConv takes one operator, or one for each of K={K} hops")
        super().__init__(in_channels, out_channels, hops[0])
        self.hops = nn.ModuleList(hops)
        self.lin = Linear(in_channels, out_channels, bias=bias)

    @property
    def K(self) -> int:
        """The number of hops."""
        return len(self.hops)

    @property
    def operators(self) -> tuple[PGSO, ...]:
        """One operator per hop, the same one again and again if they share S."""
        return tuple(self.hops)  # type: ignore[arg-type]

    def forward(
        self,
        x: Features,  # (n, in_channels)
        edge_index: OnGraph,
        edge_weight: Tensor | None = None,  # (E,)
    ) -> Tensor:  # (n, out_channels)
        """All hops on the narrower side of the linear map."""
        return transform_and_propagate(
            x, edge_index, edge_weight, self.operators, self.lin, self.explain is not False
        )
