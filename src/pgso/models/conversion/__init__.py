"""Any PyG model with learned operators: one adapter per kind of layer, outputs unchanged."""

from pgso.models.conversion.convert import ConversionWarning, convert

__all__ = ["ConversionWarning", "convert"]
