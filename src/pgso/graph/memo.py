"""Torch's modes, computing outside of them, and a cache by tensor that holds in all of them."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor
from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack
from torch.autograd import forward_ad
from torch.utils.weak import WeakIdKeyDictionary


def learns(value: Tensor) -> bool:
    """Whether a derivative in it may be asked for: backwards, or forwards if it has a tangent."""
    if value.requires_grad or torch.compiler.is_compiling() or forward_ad._current_level < 0:
        return value.requires_grad
    return forward_ad.unpack_dual(value).tangent is not None


def is_traced() -> bool:
    """Whether torch writes a program of what is computed: then nothing may be remembered."""
    return torch.compiler.is_compiling() or torch.jit.is_tracing()  # type: ignore[attr-defined]


def is_eager() -> bool:
    """Whether numbers may be looked at: no program is being traced, no transform is at work.

    Transforms are those of ``torch.func``, and forward-mode differentiation.
    """
    return not (
        torch.compiler.is_compiling()
        or torch._C._are_functorch_transforms_active()
        or forward_ad._current_level >= 0
    )


def can_be_read(value: Any) -> bool:
    """Whether the numbers in it may be looked at, by checks."""
    return not isinstance(value, Tensor) or is_eager()


@contextmanager
def for_any_mode(*inputs: Any) -> Iterator[None]:
    """Tensors made of the inputs within it are constants: in inference mode and transforms, too."""
    with torch.inference_mode(False), torch.no_grad(), outside_transforms(*inputs):
        yield


def outside_transforms(*inputs: Any) -> AbstractContextManager[Any]:
    """Computations within it are not seen by transforms of ``torch.func``, which wrap tensors.

    A wrapped tensor is of no use after its transform, so what is remembered is made outside of
    all, unless an input that it is made of is wrapped itself.
    """
    is_idle = torch.compiler.is_compiling() or not torch._C._are_functorch_transforms_active()
    if is_idle or any(map(is_wrapped, inputs)):
        return nullcontext()
    return temporarily_clear_interpreter_stack()


def is_wrapped(value: Any) -> bool:
    """Whether this is a tensor that belongs to a transform of ``torch.func``."""
    return isinstance(value, Tensor) and torch._C._functorch.is_functorch_wrapped_tensor(value)


T = TypeVar("T")

PARTS = {  # what a sparse tensor is made of
    torch.sparse_coo: ("_indices", "_values"),
    torch.sparse_csr: ("crow_indices", "col_indices", "values"),
    torch.sparse_csc: ("ccol_indices", "row_indices", "values"),
}
LANES = 61  # sums that a checksum holds: a prime, so that rows of a matrix do not line up


def state_of(x: Tensor) -> tuple[Any, ...]:
    """A value that changes when the tensor does: its version, and on the CPU a checksum.

    A change through numpy's memory, ``.data``, DLPack or shared memory leaves the version alone,
    and moves the checksum: one pass over the data. Another device would have to wait for it.
    """
    if x.device.type != "cpu":
        return (x._version,)
    if x.layout != torch.strided:
        parts = (getattr(x, name)() for name in PARTS.get(x.layout, ()))
        return x._version, *map(state_of, parts)
    words = x.detach().contiguous().view(-1)
    if words.element_size() > 1 and words.is_floating_point():
        words = words.view({2: torch.int16, 4: torch.int32, 8: torch.int64}[words.element_size()])
    whole = words.numel() // LANES * LANES
    sums = words[:whole].view(-1, LANES).sum(0, dtype=torch.int64)
    return x._version, words.numel(), *sums.tolist(), *words[whole:].tolist()


class Memo(Generic[T]):
    """Values made of tensors, each kept as long as its tensor lives and has the same ``state``.

    Entries are replaced, never changed, so that threads may share a memo.
    """

    def __init__(self, state: Callable[[Tensor], tuple[Any, ...]] = state_of) -> None:
        self._state = state
        self._made = WeakIdKeyDictionary()  # by tensor: its state and its value

    def of(self, x: Tensor, make: Callable[[], T]) -> T:
        """The value of x as it is now; ``make`` is called if there is none yet."""
        if x.is_inference():  # such a tensor has no version
            return make()
        state = self._state(x)
        before, value = self._made.get(x, (None, None))
        if before != state:
            with for_any_mode(x):
                value = make()
            self._made[x] = state, value
        return value  # type: ignore[no-any-return]

    def __reduce__(self) -> tuple[type["Memo[T]"], tuple[Any]]:
        return Memo, (self._state,)  # a copy begins empty: it would not know its tensors
