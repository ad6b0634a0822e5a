"""Any PyG model with learned operators: one adapter per kind of layer, outputs unchanged."""

from pgso.conversion.convert import ConversionWarning, convert
from pgso.conversion.layer import Converted, Reading, converts, one_set, two_sets

__all__ = [
    "ConversionWarning",
    "Converted",
    "Reading",
    "convert",
    "converts",
    "one_set",
    "two_sets",
]
