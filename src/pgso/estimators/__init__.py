"""Learned operators for people who do not write torch, with scikit-learn's conventions."""

from pgso.estimators.classifier import PGSOClassifier
from pgso.estimators.regressor import PGSORegressor
from pgso.estimators.transformer import PGSOFeatures

__all__ = ["PGSOClassifier", "PGSOFeatures", "PGSORegressor"]
