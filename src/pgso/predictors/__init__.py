"""Saved models in use: a network, a closed form or trees, on new nodes and new graphs."""

from pgso.predictors.predictor import Predictor, load

__all__ = ["Predictor", "load"]
