"""Section 4: the spectrum of γ(A, S), real for every S, and certified bounds on it."""

from pgso.spectrum.clustering import (
    PGSOSpectralClustering,
    PGSOSpectralEmbedding,
    regularised_adjacency,
)
from pgso.spectrum.interval import gershgorin_interval
from pgso.spectrum.kernel_polynomial import Density, density
from pgso.spectrum.lanczos import Eigenpairs, NotConvergedError, eigenpairs, eigenvalues
from pgso.spectrum.lipschitz import operator_norm_bound
from pgso.spectrum.monitor import SpectralMonitor, SpectralWarning
from pgso.spectrum.optimal_interval import interval
from pgso.spectrum.similarity import symmetrised, symmetriser
from pgso.spectrum.smoothness import dirichlet_energy, mean_average_distance

__all__ = [
    "Density",
    "Eigenpairs",
    "NotConvergedError",
    "PGSOSpectralClustering",
    "PGSOSpectralEmbedding",
    "SpectralMonitor",
    "SpectralWarning",
    "density",
    "dirichlet_energy",
    "eigenpairs",
    "eigenvalues",
    "gershgorin_interval",
    "interval",
    "mean_average_distance",
    "operator_norm_bound",
    "regularised_adjacency",
    "symmetrised",
    "symmetriser",
]
