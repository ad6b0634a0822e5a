"""Section 4: the spectrum of γ(A, S), real for every S, and certified bounds on it."""

from pgso.spectrum.interval import gershgorin_interval
from pgso.spectrum.kernel_polynomial import Density, density
from pgso.spectrum.lanczos import Eigenpairs, NotConvergedError, eigenpairs, eigenvalues
from pgso.spectrum.optimal_interval import interval
from pgso.spectrum.similarity import symmetrised, symmetriser

__all__ = [
    "Density",
    "Eigenpairs",
    "NotConvergedError",
    "density",
    "eigenpairs",
    "eigenvalues",
    "gershgorin_interval",
    "interval",
    "symmetrised",
    "symmetriser",
]
