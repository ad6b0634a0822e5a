"""Section 4: the spectrum of γ(A, S), real for every S, and certified bounds on it."""

from pgso.spectrum.interval import gershgorin_interval
from pgso.spectrum.similarity import symmetrised, symmetriser

__all__ = ["gershgorin_interval", "symmetrised", "symmetriser"]
