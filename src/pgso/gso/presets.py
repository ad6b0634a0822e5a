"""The presets by the name they had: they stand with the parameters."""

from pgso.gso.parameters import PRESETS, TABLE_1, PGSOParameters

resolve = PGSOParameters.of

__all__ = ["PRESETS", "TABLE_1", "resolve"]
