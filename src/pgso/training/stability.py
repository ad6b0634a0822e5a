"""Keeping a learned operator's spectrum within bounds."""

from collections.abc import Iterable

import torch

from pgso.errors import InputError
from pgso.graph import Graph
from pgso.gso.module import PGSO
from pgso.spectrum.interval import gershgorin_interval

SLACK = 1e-6  # S is stored in 32 bits: aim a little below the bound, so that rounding keeps it


def limit_radius(operators: Iterable[PGSO], graph: Graph, radius: float) -> None:
    """Scale m1, m2, m3 of each operator so that its certified spectral radius is at most this.

    The interval of Theorem 2 is linear in (m1, m2, m3): scaling the three by radius / r
    scales it by the same factor, and changes nothing else about the operator.
    """
    with torch.no_grad():
        for gso in operators:
            if gso.kind in ("node", "structural"):
                raise InputError("max_radius takes one S for all nodes: choose another shape")
            low, high = gershgorin_interval(gso.on(graph))
            certified = torch.maximum(low.abs(), high.abs())  # of every channel, if they differ
            # No number is looked at: a GPU would wait. Of a run that has diverged nothing changes.
            above = (certified > radius) & certified.isfinite()
            factor = torch.where(above, (1 - SLACK) * radius / certified, 1.0)
            for scalar in (gso.m1, gso.m2, gso.m3):
                scalar.mul_(factor)
