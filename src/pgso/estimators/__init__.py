"""Learned operators for people who do not write torch, with scikit-learn's conventions."""

from pgso.estimators.classifier import PGSOClassifier
from pgso.estimators.features import PGSOFeatures

__all__ = ["PGSOClassifier", "PGSOFeatures"]
