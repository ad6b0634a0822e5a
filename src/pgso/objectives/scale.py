"""Targets on the scale that a network learns them on, and back."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from pgso.errors import InputError

if TYPE_CHECKING:
    from torch import Tensor

ROUNDING = 1e-12  # of a mean: what differs from it by less is constant
FAR = 1000  # standard deviations from 0, where 32 bits keep four digits of a deviation


@dataclass(frozen=True)
class Scale:
    r"""Standardised targets: zero mean and unit variance over the training set, by column.

    .. math::
        z = (t - \mu) / \sigma, \qquad t = y \text{ or } \log y

    Example:
        >>> import torch
        >>> y = torch.tensor([[1.0], [3.0]])
        >>> scale = Scale.of(y)
        >>> scale.encode(y).flatten().tolist(), scale.decode(torch.zeros(1, 1)).item()
        ([-1.0, 1.0], 2.0)
    """

    mean: tuple[float, ...]  # of each column
    sd: tuple[float, ...]
    log: bool = False

    @classmethod
    def of(cls, y: "Tensor", log: bool = False) -> "Scale":
        """The scale of these targets, of shape (n, T); NaN, a missing one, is left out."""
        if log and bool((y <= 0).any()):
            smallest = float(y[y <= 0][0])
            raise InputError(
                f"log_targets needs targets above 0, got {smallest:g}; leave it out, or shift them"
            )
        values = (y.log() if log else y).double()
        mean = values.nanmean(0)
        variance = (values - mean).square().nanmean(0)
        varies = variance.sqrt() > ROUNDING * mean.abs()
        sd = variance.sqrt().where(varies, variance.new_ones(()))  # a constant stays
        return cls(tuple(mean.tolist()), tuple(sd.tolist()), log)

    @property
    def needs_64_bits(self) -> bool:
        """Whether 32 bits would cost digits of the deviations, as they do of a time in seconds."""
        columns = zip(self.mean, self.sd, strict=True)
        return any(abs(mean) > FAR * sd or sd < 1e-30 or sd > 1e30 for mean, sd in columns)

    def encode(self, y: "Tensor") -> "Tensor":
        """Targets as they are learned."""
        values = y.log() if self.log else y
        return (values - y.new_tensor(self.mean)) / y.new_tensor(self.sd)

    def decode(self, out: "Tensor") -> "Tensor":
        """Outputs in the unit of the targets."""
        out = out.double() if self.needs_64_bits else out
        values = out * out.new_tensor(self.sd) + out.new_tensor(self.mean)
        return values.exp() if self.log else values

    def as_dict(self) -> dict[str, Any]:
        """Plain data for a file."""
        return asdict(self)
