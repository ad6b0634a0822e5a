"""Appendix B.2.2: the exponents learn more slowly than everything else."""

from typing import Any

from torch import nn

from pgso.gso.module import PGSO
from pgso.gso.parameters import EXPONENTS


def param_groups(
    model: nn.Module,
    lr: float = 0.01,
    exponent_lr: float = 0.005,
    weight_decay: float = 5e-4,
) -> list[dict[str, Any]]:
    """Groups for any torch optimiser: weights, the scalars m1, m2, m3, a, and the exponents.

    "The differentiation between the two learning rates is crucial for the model training, as the
    fluctuation of the exponential parameters has a higher impact" (Appendix B.2.2).

    Example:
        >>> groups = param_groups(nn.ModuleList([nn.Linear(2, 2), PGSO("gcn")]))
        >>> [(group["name"], group["lr"]) for group in groups]
        [('weights', 0.01), ('scalars', 0.01), ('exponents', 0.005)]
    """
    operators = [module for module in model.modules() if isinstance(module, PGSO)]
    named = [(name, p) for gso in operators for name, p in gso.named_parameters()]
    exponents = [p for name, p in named if name in EXPONENTS]
    scalars = [p for name, p in named if name not in EXPONENTS]
    of_operators = {id(p) for _, p in named}
    weights = [p for p in model.parameters() if id(p) not in of_operators]
    groups = [
        {"name": "weights", "params": weights, "lr": lr, "weight_decay": weight_decay},
        {"name": "scalars", "params": scalars, "lr": lr, "weight_decay": weight_decay},
        {"name": "exponents", "params": exponents, "lr": exponent_lr, "weight_decay": weight_decay},
    ]
    return [group for group in groups if group["params"]]
