"""Appendix B.2.2: the exponents learn more slowly than everything else."""

from typing import Any

from torch import nn

from pgso.convs.filter import FilterConv
from pgso.gso.module import PGSO
from pgso.gso.parameters import EXPONENTS


def param_groups(
    model: nn.Module,
    lr: float = 0.01,
    exponent_lr: float = 0.005,
    weight_decay: float = 5e-4,
    coefficient_lr: float | None = None,
    coefficient_decay: float | None = None,
) -> list[dict[str, Any]]:
    """Groups for any torch optimiser: weights, the scalars m1, m2, m3, a, exponents, filters.

    "The differentiation between the two learning rates is crucial for the model training, as the
    fluctuation of the exponential parameters has a higher impact" (Appendix B.2.2).

    Args:
        model: The network.
        lr: Rate of the weights and of m1, m2, m3 and a.
        exponent_lr: Rate of the exponents.
        weight_decay: Of all.
        coefficient_lr: Rate of the coefficients of filters, which want a lower one than weights; by
            default as the exponents.
        coefficient_decay: Decay of the coefficients; by default as of all.

    Example:
        >>> groups = param_groups(nn.ModuleList([nn.Linear(2, 2), PGSO("gcn")]))
        >>> [(group["name"], group["lr"]) for group in groups]
        [('weights', 0.01), ('scalars', 0.01), ('exponents', 0.005)]
    """
    operators = [module for module in model.modules() if isinstance(module, PGSO)]
    filters = [module for module in model.modules() if isinstance(module, FilterConv)]
    named = {p: name for gso in operators for name, p in gso.named_parameters()}  # a tied one once
    exponents = [p for p, name in named.items() if name in EXPONENTS]
    scalars = [p for p, name in named.items() if name not in EXPONENTS]
    coefficients = list(dict.fromkeys(module.coefficients for module in filters))
    apart = {*coefficients, *named}
    weights = [p for p in model.parameters() if p not in apart]
    slow = exponent_lr if coefficient_lr is None else coefficient_lr
    decay = weight_decay if coefficient_decay is None else coefficient_decay
    groups: list[dict[str, Any]] = [
        {"name": "weights", "params": weights, "lr": lr, "weight_decay": weight_decay},
        {"name": "scalars", "params": scalars, "lr": lr, "weight_decay": weight_decay},
        {"name": "exponents", "params": exponents, "lr": exponent_lr, "weight_decay": weight_decay},
    ]
    if coefficients:
        groups.append(
            {"name": "coefficients", "params": coefficients, "lr": slow, "weight_decay": decay}
        )
    return [group for group in groups if group["params"]]
