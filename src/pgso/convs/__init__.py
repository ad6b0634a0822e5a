"""Base architectures with a learnable operator: adding one is adding a file here."""

from pgso.convs.architecture import CONVS, Conv, load_all

load_all()

__all__ = ["CONVS", "Conv"]
