"""Where a run computes: decided once, at the command, and handed down."""

import torch

from pgso.errors import InputError
from pgso.scale import ranks


def device_of(name: str | torch.device | None = None) -> torch.device:
    """The device of a name.

    Args:
        name: ``"cpu"``, ``"cuda"``, ``"cuda:1"``, or ``"auto"``: a GPU if there is one. None is
            ``"auto"``, and the process's own device where torchrun has started several.

    Example:
        >>> device_of("cpu")
        device(type='cpu')
    """
    if ranks.num_ranks() > 1:
        if name is not None and str(name) not in ("auto", ranks.device().type):
            raise InputError(
                f"torchrun gives every process its own device, and this one has {ranks.device()}; "
                f"leave out device {str(name)!r}"
            )
        return ranks.device()
    if name is None or str(name) == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise InputError(
            f"no device is called {str(name)!r}; choose cpu, cuda, cuda:1, ... or auto"
        ) from None
    if device.type == "cuda":
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if (device.index or 0) >= count:
            raise InputError(f"there is no {device}: torch sees {count} GPUs here; choose cpu")
    elif device.type != "cpu":
        raise InputError(f"runs compute on cpu or cuda, not on {device.type}")
    return device
