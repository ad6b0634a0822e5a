"""What is computed once and kept, and is then of use in training, whoever asked for it first."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

import torch
from torch import Tensor
from torch.utils.weak import WeakIdKeyDictionary

T = TypeVar("T")


@contextmanager
def for_any_mode() -> Iterator[None]:
    """Tensors made within it are ordinary constants, even in inference mode."""
    with torch.inference_mode(False), torch.no_grad():
        yield


class Memo(Generic[T]):
    """What was made of a tensor, for as long as that lives and is not changed in place.

    Example:
        >>> lengths, word = Memo(), torch.zeros(3)
        >>> lengths.of(word, lambda: len(word)), lengths.of(word, lambda: 4)
        (3, 3)
        >>> _ = word.add_(1)
        >>> lengths.of(word, lambda: 4)
        4
    """

    def __init__(self) -> None:
        self._made = WeakIdKeyDictionary()  # by tensor: its version, and what was made of it

    def of(self, x: Tensor, make: Callable[[], T]) -> T:
        """What was made of this version of x, made now if need be."""
        if x.is_inference():  # such a tensor has no version
            return make()
        version, known = self._made.get(x, (None, None))
        if version != x._version:
            with for_any_mode():
                known = make()
            self._made[x] = x._version, known
        return known  # type: ignore[no-any-return]

    def __reduce__(self) -> tuple[type["Memo[T]"], tuple[()]]:
        return Memo, ()  # a copy begins empty: it would not know its tensors by identity
