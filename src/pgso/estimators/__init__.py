"""Learned operators for people who do not write torch, with scikit-learn's conventions."""

from pgso.estimators.estimator import PGSOClassifier, PGSORegressor
from pgso.estimators.transformer import PGSOFeatures

__all__ = ["PGSOClassifier", "PGSOFeatures", "PGSORegressor"]
