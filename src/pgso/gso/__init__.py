"""The parametrised graph shift operator: definition, presets, products, module."""
