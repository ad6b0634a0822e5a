"""What is kept for later must be of use in training, whoever asked for it first."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def for_any_mode() -> Iterator[None]:
    """Tensors made within it are ordinary constants, even in inference mode."""
    with torch.inference_mode(False), torch.no_grad():
        yield
