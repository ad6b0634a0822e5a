"""The spectral density of γ(A, S) by the kernel polynomial method: no eigendecomposition."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pgso.errors import InputError
from pgso.graph import product
from pgso.gso.node_shift import NodeShift
from pgso.gso.operator import Shown
from pgso.spectrum.certified import OnGraph, Parameters, certified, twin
from pgso.spectrum.interval import certified_interval

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Density(Shown):
    """How the eigenvalues are spread: a density that integrates to 1 over its grid.

    ``error`` is one standard error, estimated from the probes. What is narrower than
    ``resolution`` is blurred to that width.
    """

    grid: Array  # (points,) ascending, denser towards both ends
    density: Array  # (points,)
    error: Array  # (points,)
    resolution: Array  # (points,) standard deviation of the kernel
    samples: Array  # (probes, points) the density as each probe sees it

    def __repr__(self) -> str:
        low, high = self.grid[0], self.grid[-1]
        return f"Density({len(self.grid)} points on [{low:.4g}, {high:.4g}])"

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw it with a band of two standard errors: matplotlib axes in, axes out."""
        from pgso.drawing import plot_density

        return plot_density(self.grid, self.density, self.error, ax)

    def to_frame(self) -> "pandas.DataFrame":
        """One row per point: eigenvalue, density, error, resolution."""
        import pandas

        columns = {name: getattr(self, name) for name in ("density", "error", "resolution")}
        return pandas.DataFrame({"eigenvalue": self.grid, **columns})

    def _repr_html_(self) -> str:
        import pandas

        edges = np.linspace(self.grid[0], self.grid[-1], 6)
        shares, errors = self.histogram(edges)
        rows = {
            f"{low:.3g} to {high:.3g}": f"{100 * share:.1f} % ± {100 * error:.1f}"
            for low, high, share, error in zip(edges, edges[1:], shares, errors, strict=False)
        }
        return pandas.DataFrame({"share of eigenvalues": rows}).to_html()

    def histogram(self, edges: Sequence[float] | Array) -> tuple[Array, Array]:  # (bins,) each
        """The share of eigenvalues in each bin, with its error: of the probes, and of the blur.

        The blur may move what lies within two kernel widths of an edge to the other side of it.
        """
        edges = np.asarray(edges, dtype=np.float64)
        if edges.ndim != 1 or len(edges) < 2 or not (np.diff(edges) > 0).all():
            raise InputError("the edges of bins must be two numbers or more, each above the last")
        cumulative = np.zeros_like(self.samples)
        steps = np.diff(self.grid) * (self.samples[:, 1:] + self.samples[:, :-1]) / 2
        np.cumsum(steps, axis=1, out=cumulative[:, 1:])

        def up_to(points: Array) -> Array:  # (probes, len(points))
            return np.stack([np.interp(points, self.grid, row) for row in cumulative])

        shares = np.diff(up_to(edges), axis=1)
        reach = 2 * np.interp(edges, self.grid, self.resolution)
        near = (up_to(edges + reach) - up_to(edges - reach)).mean(axis=0)
        return shares.mean(axis=0), 3 * _standard_error(shares) + near[1:] + near[:-1]


def density(
    graph: OnGraph,
    S: Parameters = None,
    num_moments: int = 200,
    num_probes: int = 16,
    num_points: int = 1000,
    seed: int = 0,
) -> Density:
    r"""The spectral density of an undirected graph's PGSO: ``num_moments / 2`` sparse products.

    The operator is scaled into [-1, 1] by its certified interval; its Chebyshev moments
    :math:`\mu_k = \operatorname{tr} T_k(\tilde\gamma) / n` are estimated from random signs
    (Hutchinson), two moments a product; and Jackson's kernel keeps the series positive (Weiße et
    al., "The kernel polynomial method", 2006).

    Args:
        graph: An operator, or a graph followed by S: see :func:`gershgorin_interval`.
        S: Of a graph.
        num_moments: Sharpness: details of π / num_moments of half the interval are seen.
        num_probes: Random vectors; the error falls with √(n num_probes).
        num_points: Points of the grid.
        seed: Of the random vectors.
    """
    counts = {"num_moments": num_moments, "num_probes": num_probes, "num_points": num_points}
    for name, value in counts.items():
        if value < 2:
            raise InputError(f"{name} must be at least 2, got {value}")
    op = certified(graph, S)
    symmetric = twin(op)
    low, high = (float(end.detach()) for end in certified_interval(op, "optimal"))
    centre = (low + high) / 2
    # A margin keeps rounding inside [-1, 1], and peaks away from the ends where the grid stops.
    half = max(1.02 * (high - low) / 2, 1e-3 * max(1.0, abs(centre)))
    # The trace of T_k over n as each probe sees it, by T_{j+k} + T_{|j-k|} = 2 T_j T_k.
    with torch.no_grad():
        n, twice = symmetric.shape[0], lambda x: (2 / half) * (symmetric @ x - centre * x)
        if isinstance(symmetric, NodeShift):  # entries fit into 32 bits: faster
            pattern, entries = symmetric.graph.pattern, symmetric.entries(torch.float64)
            entries = entries.index_add(0, pattern.diagonal, entries.new_full((n,), -centre))
            values = (entries * (2 / half)).float()
            twice = lambda x: product(pattern, values, x)  # noqa: E731
        generator = torch.Generator(device=symmetric.device).manual_seed(seed)
        signs = torch.randint(0, 2, (n, num_probes), generator=generator, device=symmetric.device)
        previous = signs.float().mul_(2).sub_(1)
        current = twice(previous).mul_(0.5)
        moments = [_dots(previous, previous), _dots(previous, current)]
        while len(moments) < num_moments:
            moments.append(2 * _dots(current, current) - moments[0])
            following = twice(current).sub_(previous)
            moments.append(2 * _dots(following, current) - moments[1])
            previous, current = current, following
        by_probe = torch.stack(moments[:num_moments], dim=1).div_(n).numpy(force=True)
    theta = np.pi * (np.arange(num_points)[::-1] + 0.5) / num_points
    k = np.arange(num_moments)
    step = np.pi / (num_moments + 1)  # Jackson's damping: the kernel is positive, π / count wide
    damped = (num_moments - k + 1) * np.cos(step * k) + np.sin(step * k) / np.tan(step)
    weights = damped / (num_moments + 1) * np.where(k == 0, 1.0, 2.0)
    samples = by_probe @ (weights[:, None] * np.cos(np.outer(k, theta))) / (np.pi * np.sin(theta))
    grid = centre + half * np.cos(theta)
    samples /= np.trapezoid(samples.mean(axis=0), grid)
    resolution = half * np.pi / num_moments * np.sin(theta)
    return Density(grid, samples.mean(axis=0), _standard_error(samples), resolution, samples)


def _dots(left: Tensor, right: Tensor) -> Tensor:  # (n, probes), (n, probes) -> (probes,)
    """The dot product of each pair of columns, summed in double precision block by block."""
    blocks = zip(left.split(2**14), right.split(2**14), strict=True)
    return torch.stack([(x * y).sum(0) for x, y in blocks]).double().sum(0)


def _standard_error(samples: Array) -> Array:
    """Of the mean over the first axis."""
    return samples.std(axis=0, ddof=1) / np.sqrt(len(samples))
