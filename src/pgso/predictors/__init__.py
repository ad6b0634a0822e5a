"""Saved models in use: a network, a closed form or trees, on new nodes and new graphs.

``predictor`` loads one and predicts, ``inputs`` reads what it is asked about, ``table`` writes
what it says.
"""

from pgso.predictors.predictor import Predictor, load

__all__ = ["Predictor", "load"]
