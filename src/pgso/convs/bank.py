"""Banks: several operators in one layer, each with weights of its own."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from pgso.convs.architecture import CONVS, Conv, OnGraph, propagated, shifts_on
from pgso.convs.sparse_features import Features, Linear, Pair, as_features, as_pair
from pgso.errors import InputError
from pgso.gso.module import PGSO, Shape
from pgso.gso.parameters import PGSOParameters

SELF = "self"
TERMS = ("self", "gcn")


class Term(NamedTuple):
    """One summand of a bank: where its operator starts, and on which edges it acts."""

    preset: str | tuple[float, ...]  # a name, or seven numbers
    edges: str | None  # None: all, as they are; "in", "out", or a relation's name

    @classmethod
    def of(cls, text: str) -> "Term":
        """Read ``preset`` or ``preset@edges``; a preset may be seven numbers with commas."""
        if not isinstance(text, str):
            raise InputError(f'a term is a text such as "self", "gcn" or "gcn@out", got {text!r}')
        preset, at, edges = text.partition("@")
        start: str | tuple[float, ...] = preset
        if "," in preset:
            try:
                start = tuple(float(number) for number in preset.split(","))
            except ValueError:
                raise InputError(
                    f"a term has a preset's name or seven numbers with commas, got {preset!r}"
                ) from None
        PGSOParameters.of(start)
        if at and not edges:
            raise InputError(f'after @ a term names its edges, as in "{preset}@out", got {text!r}')
        return cls(start, edges or None)


@CONVS.register("bank")
class BankConv(Conv):
    r"""A sum of operators, each with weights of its own.

    .. math::
        H^{(l+1)} = \sum_t \gamma_t(A, \mathcal{S}_t) H^{(l)} W_t^{(l)} + b, \qquad
        \gamma_{self} = I

    With ``("self", "mean")`` and fixed S this is PyG's ``SAGEConv``; with ``("self", "gcn")`` a GCN
    with a residual map; with ``("self", "gcn@in", "gcn@out")`` a directed network.

    Args:
        in_channels: Features per node, or -1 to find out on first use.
        gso: One operator for each term but ``"self"``, in their order; by default learned ones that
            start where the terms say. A preset's name is where they start instead.
        terms: ``"self"``; a preset, or S as ``"0,1,0,0,-0.5,-0.5,1"``; ``preset@in`` and
            ``preset@out`` for incoming and outgoing edges, normalised by the degrees of both ends;
            ``preset@RELATION`` for one relation.
    """

    preset = "gcn"
    takes_terms = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        gso: PGSO | Sequence[PGSO] | str | None = None,
        terms: Sequence[str] = TERMS,
        bias: bool = True,
    ) -> None:
        self.check_terms(terms)
        if gso is None or isinstance(gso, str):
            made = self.make_operators(gso, True, "scalar", terms=terms)
        else:
            made = list(gso) if isinstance(gso, Iterable) else [gso]
            if not all(isinstance(one, PGSO) for one in made):
                kinds = ", ".join(type(one).__name__ for one in made)
                raise InputError(
                    f"gso must be a PGSO for each term, or the name of a preset, got {kinds}"
                )
            count = len(terms) - (SELF in terms)
            if len(made) != count:
                raise InputError(
                    f"the terms {', '.join(terms)} take one operator each, except for self, "
                    f"{count} of them, got {len(made)}"
                )
        super().__init__(in_channels, out_channels, made[0] if made else None)
        self.terms = tuple(terms)
        self.banks = nn.ModuleList(made)
        if not made:
            del self.gso  # without a term on the graph there is no operator
        self.lins = nn.ModuleList(
            Linear(in_channels, out_channels, bias=False, weight_initializer="glorot")
            for _ in terms
        )
        self.bias = nn.Parameter(torch.zeros(out_channels)) if bias else None

    @staticmethod
    def check_terms(terms: Sequence[str]) -> None:
        """Refuse no term, one twice, and what cannot be read."""
        if isinstance(terms, str) or not terms:
            raise InputError(f'terms takes a sequence such as ("self", "gcn"), got {terms!r}')
        if len(set(terms)) < len(terms):
            raise InputError(f"a term may occur once, got {', '.join(terms)}")
        for term in terms:
            if term != SELF:
                Term.of(term)

    @classmethod
    def make_operators(cls, start: Any, learn: Any, shape: Shape, **options: Any) -> list[PGSO]:
        terms: Sequence[str] = options.get("terms", TERMS)
        cls.check_terms(terms)
        on_graph = [Term.of(term) for term in terms if term != SELF]
        if start is not None and len({term.preset for term in on_graph}) > 1:
            raise InputError(
                f"the terms {', '.join(terms)} start at presets of their own; leave out the "
                "preset, or name the same one in every term"
            )
        operators = []
        for preset, edges in on_graph:
            degrees = "row" if edges is None else "both"  # of both ends of an edge, as in Dir-GCN
            operators.append(PGSO(preset if start is None else start, learn, shape, degrees, edges))
        return operators

    @property
    def operators(self) -> tuple[PGSO, ...]:
        return tuple(self.banks)  # type: ignore[arg-type]

    def forward(
        self,
        x: Features | Pair,  # (n, in_channels), or a pair (x_source, x_target)
        edge_index: OnGraph,
        edge_weight: Tensor | None = None,  # (E,)
    ) -> Tensor:  # (n, out_channels)
        """The sum of all terms, each product on whichever side of its weights is narrower."""
        pair = as_pair(x) if isinstance(x, tuple) else None
        features: Any = as_features(x) if pair is None else pair  # type: ignore[arg-type]
        own = features if pair is None else pair[1]
        masked = self.explain is not False
        shifts = shifts_on(self.operators, features, edge_index, edge_weight, masked)
        hops = zip(self.operators, shifts, strict=True)
        out: Tensor | None = self.bias
        for term, lin in zip(self.terms, self.lins, strict=True):
            linear: Linear = lin  # type: ignore[assignment]
            if term == SELF:  # of a pair, a target's own term is of its own features
                out = out if own is None else linear.added_to(out, own)
                continue
            gso, operator = next(hops)
            narrower = 0 < linear.in_channels <= linear.out_channels and gso.commutes
            if isinstance(features, Tensor) and narrower:
                out = linear.added_to(out, gso(features, operator))
                continue
            part = propagated(features, operator, gso, linear)
            out = part if out is None else part + out
        assert out is not None
        return out
