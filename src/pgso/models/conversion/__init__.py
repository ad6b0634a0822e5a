"""Any PyG model with learned operators: one adapter per kind of layer, outputs unchanged."""

from pgso.models.conversion.convert import ConversionWarning, convert
from pgso.models.conversion.layer import Converted, converts, one_set, two_sets
from pgso.models.conversion.reading import Reading

__all__ = [
    "ConversionWarning",
    "Converted",
    "Reading",
    "convert",
    "converts",
    "one_set",
    "two_sets",
]
