"""Watching the spectrum of a network's operators while it trains."""

import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch_geometric.nn import Linear as PyGLinear

from pgso.errors import InputError
from pgso.graph import Graph
from pgso.gso.module import PGSO
from pgso.gso.shift import apply_pgso
from pgso.spectrum.certified import OnGraph, Parameters, operator_of, row_and_column_norm
from pgso.spectrum.interval import gershgorin_interval

LINEAR = (nn.Linear, PyGLinear)
BATCH_NORM = (nn.BatchNorm1d,)


class SpectralWarning(UserWarning):
    """The spectral radius of an operator has grown out of proportion."""


class OperatorReading(NamedTuple):
    """One operator, by Theorem 2: every eigenvalue lies in [low, high]."""

    low: float
    high: float

    @property
    def centre(self) -> float:
        """The middle of the interval."""
        return (self.low + self.high) / 2

    @property
    def radius(self) -> float:
        """A bound on the size of every eigenvalue."""
        return max(abs(self.low), abs(self.high))


class LayerReading(NamedTuple):
    """One layer's output: both numbers fall to 0 where features are smoothed out."""

    dirichlet_energy: float  # see pgso.spectrum.monitor
    mean_average_distance: float


class Observation(NamedTuple):
    """What :meth:`SpectralMonitor.observe` saw at one step."""

    step: int
    operators: dict[str, OperatorReading]  # by the module's name
    lipschitz: float  # of the whole stack, see pgso.spectrum.monitor
    layers: dict[str, LayerReading]  # empty unless the model is watched


class SpectralMonitor:
    """Logs the spectra of operators during training, in our trainer or in your own loop.

    Args:
        writer: A TensorBoard ``SummaryWriter``, or any object with an ``add_scalar`` like its.
        growth_limit: Warn, once an operator, when its radius is this many times the first one.

    Example:
        >>> model = nn.Sequential(PGSO("gcn"))
        >>> monitor = SpectralMonitor()
        >>> path = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
        >>> round(monitor.observe(model, path).operators["0"].radius, 6)
        1.0
    """

    def __init__(self, writer: Any = None, growth_limit: float = 10.0) -> None:
        self.writer = writer
        self.growth_limit = growth_limit
        self.history: list[Observation] = []
        self._outputs: dict[str, Tensor] = {}
        self._calls: dict[str, int] = {}
        self._is_read = False  # whether the calls were observed: the next one begins a pass
        self._warned: set[str] = set()

    @contextmanager
    def watch(self, model: nn.Module) -> Iterator[None]:
        """Look at layers' outputs and count operators' uses as the model runs; costs nothing.

        Only references to the last outputs are kept; :meth:`observe` does the work. A layer is a
        module that holds an operator as its own attribute. A pass begins where the model is called
        or, if it is a list of layers, with the first of them after :meth:`observe`.
        """

        def keep(name: str) -> Callable[..., None]:
            def hook(module: nn.Module, inputs: Any, output: Any) -> None:
                if isinstance(output, Tensor) and output.is_floating_point():
                    self._outputs[name] = output.detach()

            return hook

        def count(name: str) -> Callable[..., None]:
            def hook(module: nn.Module, inputs: Any, output: Any) -> None:
                if self._is_read:
                    self._calls.clear()
                    self._is_read = False
                self._calls[name] = self._calls.get(name, 0) + 1

            return hook

        handles = [model.register_forward_pre_hook(lambda *_: self._forget())]
        layers = {name for name, _ in _uses(model)}
        for name, module in model.named_modules():
            if name in layers:
                handles.append(module.register_forward_hook(keep(name)))
            if isinstance(module, (PGSO, *LINEAR, *BATCH_NORM)):
                handles.append(module.register_forward_hook(count(name)))
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()
            self._forget()

    @torch.no_grad()
    def observe(
        self, model: nn.Module, graph: Graph | Tensor, step: int | None = None
    ) -> Observation:
        """Read the operators, and the last outputs of a watched model; O(E) and no training state.

        Args:
            model: Contains :class:`pgso.PGSO` modules.
            graph: Undirected; a directed one is refused with an offending edge.
            step: The number to log under; by default it counts up.
        """
        graph = Graph.of(graph)
        self._is_read = True
        # How often each map is applied: counted in the last pass, or once a layer before it.
        uses = self._calls or Counter(operator for _, operator in _uses(model))
        observation = Observation(
            step=len(self.history) if step is None else step,
            operators={name: _reading(gso, graph) for name, gso in _operators(model).items()},
            lipschitz=lipschitz_bound(model, graph, uses),
            layers={
                name: LayerReading(dirichlet_energy(out, graph), mean_average_distance(out, graph))
                for name, out in self._outputs.items()
                if out.shape[0] == graph.num_nodes
            },
        )
        self.history.append(observation)
        self._warn(observation)
        if self.writer is not None:
            for tag, value in _scalars(observation):
                self.writer.add_scalar(tag, value, observation.step)
        return observation

    def _warn(self, observation: Observation) -> None:
        for name, reading in observation.operators.items():
            first = next(o.operators[name].radius for o in self.history if name in o.operators)
            limit = self.growth_limit * max(first, 1.0)
            if name not in self._warned and not reading.radius <= limit:
                self._warned.add(name)
                warnings.warn(
                    f"the spectral radius of operator {name!r} may be {reading.radius:.3g} at step "
                    f"{observation.step}, {self.growth_limit:g} times where it started; lower the "
                    "learning rate of S, or add the width of pgso.spectrum.interval to the loss",
                    SpectralWarning,
                    stacklevel=3,
                )

    def _forget(self) -> None:
        self._outputs.clear()
        self._calls.clear()


def _scalars(observation: Observation) -> Iterator[tuple[str, float]]:
    for name, operator in observation.operators.items():
        for quantity in ("low", "high", "centre", "radius"):
            yield f"spectrum/{name or 'operator'}/{quantity}", getattr(operator, quantity)
    for name, layer in observation.layers.items():
        for quantity, value in layer._asdict().items():
            yield f"smoothness/{name or 'layer'}/{quantity}", value
    if math.isfinite(observation.lipschitz):
        yield "spectrum/lipschitz", observation.lipschitz


def _reading(operator: PGSO, graph: Graph) -> "OperatorReading":
    """An interval that holds for all channels; infinite where the theorems do not apply."""
    try:
        low, high = gershgorin_interval(operator.on(graph))
    except InputError:
        if not graph.is_undirected or operator.kind not in ("node", "structural"):
            raise
        return OperatorReading(-math.inf, math.inf)
    return OperatorReading(float(low.amin()), float(high.amax()))


def _operators(model: nn.Module) -> dict[str, PGSO]:
    """Each distinct operator under the first name it is found by."""
    return {name: module for name, module in model.named_modules() if isinstance(module, PGSO)}


def _uses(model: nn.Module) -> Iterator[tuple[str, str]]:
    """Every (layer's name, operator's name); lists of operators are not layers."""
    names = {operator: name for name, operator in _operators(model).items()}
    containers = (nn.ModuleList, nn.ModuleDict, nn.Sequential)
    for name, layer in model.named_modules():
        held = [child for child in layer.children() if isinstance(child, PGSO)]
        if held and not isinstance(layer, containers):
            # Our convs say in which order, and how often, they use what they hold.
            for operator in getattr(layer, "operators", held):
                yield name, names[operator]


def operator_norm_bound(graph: OnGraph, S: Parameters = None) -> float:
    r"""A bound on :math:`\|\gamma\|_2`, by :math:`\sqrt{\|\gamma\|_1 \|\gamma\|_\infty}`.

    Where e2 ≠ e3, γ is not symmetric and its norm may exceed its spectral radius. It holds for
    directed graphs and for expressions, too, whose products are formed.

    Example:
        >>> star = Graph.from_edge_index(torch.tensor([[0, 0, 1, 2], [1, 2, 0, 0]]))
        >>> round(operator_norm_bound(star, "mean"), 3)  # √(1 · 2), where the radius is 1
        1.414
    """
    return math.sqrt(math.prod(row_and_column_norm(operator_of(graph, S))))


@torch.no_grad()
def lipschitz_bound(model: nn.Module, graph: Graph, uses: Mapping[str, int]) -> float:
    """The product of the norms of all operators, linear maps and batch norms of a model.

    It bounds the amplification from input to output if the layers follow one another, without
    skip connections, and activations do not amplify (ReLU, tanh, dropout in evaluation).
    Infinite if the model has parameters it cannot vouch for, such as attention or layer norm, and
    if a module says that it adds or joins branches (``is_chain`` is False), such as a bank. A
    module that sums over n nodes (``sums_nodes``) amplifies by √n.

    Args:
        model: The network.
        graph: Which it runs on.
        uses: How often each operator, linear map and norm, by its name in the model, is applied in
            one pass; once if it does not say.
    """
    bound = 1.0
    for name, module in model.named_modules():
        if not getattr(module, "is_chain", True):
            return math.inf
        if getattr(module, "sums_nodes", False):
            bound *= math.sqrt(graph.num_nodes)
        if isinstance(module, PGSO):
            if module.kind != "scalar":
                return math.inf
            bound *= operator_norm_bound(module.on(graph)) ** uses.get(name, 1)
        elif isinstance(module, LINEAR):
            bound *= float(torch.linalg.matrix_norm(module.weight.double(), 2)) ** uses.get(name, 1)
        elif isinstance(module, BATCH_NORM) and module.running_var is not None:
            scale = (module.running_var + module.eps).rsqrt()
            scale = scale if module.weight is None else scale * module.weight
            bound *= float(scale.abs().amax()) ** uses.get(name, 1)
        elif any(parameter != "bias" for parameter, _ in module.named_parameters(recurse=False)):
            return math.inf
    return bound


def dirichlet_energy(h: Tensor, graph: Graph) -> float:  # h: (n, F)
    r"""The share of high frequencies in h, the Rayleigh quotient of the symmetric Laplacian.

    .. math::
        E(h) = \frac{\operatorname{tr}\, h^\top (I - D^{-1/2} A D^{-1/2})\, h}{\|h\|_F^2} \in [0, 2]

    It does not depend on the scale of h. Where h is 0 it is 0.

    Example:
        >>> edge = Graph.from_edge_index(torch.tensor([[0, 1], [1, 0]]))
        >>> dirichlet_energy(torch.tensor([[1.0], [1.0]]), edge)
        0.0
        >>> dirichlet_energy(torch.tensor([[1.0], [-1.0]]), edge)
        2.0
    """
    h = h.reshape(h.size(0), -1).float()
    size = float(h.square().sum())
    if size == 0:
        return 0.0
    return float((h * apply_pgso(h, graph, "symmetric_laplacian")).sum()) / size


def mean_average_distance(h: Tensor, graph: Graph) -> float:  # h: (n, F)
    r"""The mean over nodes of the average cosine distance to their neighbours.

    MAD of Chen et al. (2020) on neighbours: :math:`1 - \cos(h_i, h_j)`, weighted as the edges are,
    over the nodes that have neighbours.

    Example:
        >>> edge = Graph.from_edge_index(torch.tensor([[0, 1], [1, 0]]))
        >>> mean_average_distance(torch.tensor([[1.0, 0.0], [0.0, 1.0]]), edge)
        1.0
    """
    h = torch.nn.functional.normalize(h.reshape(h.size(0), -1).float(), dim=1)
    has_neighbours = graph.degree > 0
    if not bool(has_neighbours.any()):
        return 0.0
    cosines = (h * apply_pgso(h, graph, "mean")).sum(dim=1)
    return float((1 - cosines)[has_neighbours].mean())
