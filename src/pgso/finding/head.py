"""The closed-form head: a finding's weights as a module, for any graph with the same features."""

from collections.abc import Sequence

from torch import Tensor, nn

from pgso.errors import InputError
from pgso.finding.blocks import Word, weighted_sum
from pgso.finding.problem import Problem
from pgso.finding.propagation import Propagation
from pgso.finding.ridge import Fit
from pgso.finding.scores import Readout
from pgso.graph import Graph


class Head(nn.Module):
    r"""The prediction of a node task's rung.

    .. math::
        b + \sum_w \gamma_{w_1} \gamma_{w_2} \cdots x W_w

    for its words w. x is prepared as the features of the fit were. Nothing is trained.
    """

    def __init__(self, problem: Problem, words: Sequence[Word], fit: Fit, readout: Readout) -> None:
        super().__init__()
        if problem.preparation is None:
            raise InputError("find has a head for other graphs in node tasks only")
        self.words, self.readout = tuple(words), readout
        self.preparation, self.num_features = problem.preparation, problem.num_features
        self.weights, self.intercept = fit.weights, fit.intercept

    def forward(self, x: Tensor, graph: Graph) -> Tensor:  # (n, F) -> (n, C)
        """Logits of classes, or numbers in their unit."""
        if x.size(1) != self.num_features:
            raise InputError(f"x has {x.size(1)} columns, the head takes {self.num_features}")
        propagation = Propagation(graph)
        out = weighted_sum(
            propagation, self.preparation(x), self.words, self.weights, self.intercept
        )
        return self.readout(out)
