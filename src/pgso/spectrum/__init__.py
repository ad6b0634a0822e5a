"""Section 4: the spectrum of γ(A, S), real for every S, and certified bounds on it."""

from typing import Any

from pgso.spectrum.certified import operator_norm_bound, symmetrised, symmetriser
from pgso.spectrum.eigen import Eigenpairs, NotConvergedError, eigenpairs, eigenvalues
from pgso.spectrum.interval import gershgorin_interval, interval
from pgso.spectrum.kernel_polynomial import Density, density

__all__ = [
    "Density",
    "Eigenpairs",
    "NotConvergedError",
    "PGSOSpectralClustering",
    "PGSOSpectralEmbedding",
    "bethe_hessian",
    "density",
    "eigenpairs",
    "eigenvalues",
    "gershgorin_interval",
    "interval",
    "operator_norm_bound",
    "regularised_adjacency",
    "symmetrised",
    "symmetriser",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'pgso.spectrum' has no attribute {name!r}")
    # On first use: every worker of a sweep would wait for scikit-learn.
    from pgso.spectrum import clustering

    return getattr(clustering, name)
