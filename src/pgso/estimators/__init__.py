"""Learned operators for people who do not write torch, with scikit-learn's conventions."""

from pgso.estimators.classifier import PGSOClassifier
from pgso.estimators.features import PGSOFeatures
from pgso.estimators.regressor import PGSORegressor

__all__ = ["PGSOClassifier", "PGSOFeatures", "PGSORegressor"]
