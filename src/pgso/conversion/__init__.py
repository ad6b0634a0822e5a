"""Any PyG model with learned operators: one adapter per kind of layer, outputs unchanged."""

from pgso.conversion.convert import ConversionWarning, convert
from pgso.conversion.layer import Converted, converts, one_set, two_sets
from pgso.conversion.reading import Reading

__all__ = [
    "ConversionWarning",
    "Converted",
    "Reading",
    "convert",
    "converts",
    "one_set",
    "two_sets",
]
