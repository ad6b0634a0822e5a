"""Where a run computes: one value, decided at the command and handed down."""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor

from pgso.errors import InputError, PGSOError
from pgso.launch import launch, patience

CPU = torch.device("cpu")
SIGNS_OF_LOSS = ("gloo", "nccl", "connection", "socket", "peer", "timed out", "timeout")


@dataclass(frozen=True)
class Place:
    """A device, which of how many processes this is, and how many threads it may take.

    Only :func:`joined` makes one of several processes. Nothing else asks torch's
    process group who it is. Alone, nothing is exchanged.
    """

    device: torch.device = CPU
    rank: int = 0  # the first writes files and messages
    num_ranks: int = 1
    threads: int = field(default_factory=torch.get_num_threads)  # of a step that is long enough

    def average(self, tensors: Iterable[Tensor | None]) -> None:
        """Replace tensors by their mean over all processes, in one exchange."""
        present = [tensor for tensor in tensors if tensor is not None]
        if self.num_ranks == 1 or not present:
            return
        flat = torch.cat([tensor.flatten() for tensor in present])
        dist.all_reduce(flat)
        means = (flat / self.num_ranks).split([tensor.numel() for tensor in present])
        for tensor, mean in zip(present, means, strict=True):
            tensor.copy_(mean.view_as(tensor))

    def gathered(self, rows: Tensor, sizes: Sequence[int]) -> Tensor:
        """The rows of all processes, so many of each, in their order, in every process."""
        if self.num_ranks == 1:  # they need not fit on the device
            return rows
        blocks = [rows.new_empty(size, *rows.shape[1:], device=self.device) for size in sizes]
        blocks[self.rank].copy_(rows)
        for rank, block in enumerate(blocks):
            dist.broadcast(block, src=rank)
        return torch.cat(blocks).cpu()


Where = str | torch.device | Place | None


def place_of(where: Where = None) -> Place:
    """The place of a device's name (``"cuda:1"``); a place is taken as it is.

    ``"auto"``, or None, is a GPU if there is one.
    """
    if isinstance(where, Place):
        return where
    if where is None or str(where) == "auto":
        return Place(torch.device("cuda" if torch.cuda.is_available() else "cpu"))
    try:
        device = torch.device(where)
    except RuntimeError:
        raise InputError(
            f"no device is called {str(where)!r}; choose cpu, cuda, cuda:1, ... or auto"
        ) from None
    if device.type == "cuda":
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if (device.index or 0) >= count:
            raise InputError(f"there is no {device}: torch sees {count} GPUs here; choose cpu")
    elif device.type != "cpu":
        raise InputError(f"runs compute on cpu or cuda, not on {device.type}")
    return Place(device)


class LostProcess(PGSOError):  # noqa: N818  (it says what happened)
    """Another process of the run is gone."""


@contextmanager
def joined(device: Where = None) -> Iterator[Place]:
    """Join the processes that torchrun has started (nccl on GPUs, gloo else), if it has.

    Alone, this is a place on the device, as in :func:`pgso.fit`. Each of several processes has a
    device of its own: its GPU, or the CPU. When another process dies, does not answer or never
    joins within ``$PGSO_PATIENCE`` seconds (ten minutes by default), this one ends with a sentence
    that says so.
    """
    me = launch()
    if me.num_ranks == 1:
        yield place_of(device)
        return
    own_device, backend = CPU, "gloo"
    if torch.cuda.is_available():  # torchrun has given this process a GPU
        own_device, backend = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0"))), "nccl"
    place = Place(own_device, me.rank, me.num_ranks)
    if dist.is_initialized():  # by the caller
        yield place
        return
    if device is not None and str(device) not in ("auto", own_device.type):
        raise InputError(
            f"torchrun gives every process its own device, and this one has {own_device}; "
            f"leave out device {str(device)!r}"
        )
    if backend == "nccl":
        torch.cuda.set_device(own_device)
    seconds = patience()
    try:
        dist.init_process_group(backend, timeout=timedelta(seconds=seconds))
    except (RuntimeError, ValueError) as error:
        raise LostProcess(
            f"the {me.num_ranks} processes did not all meet at {me.host}:{me.port} within "
            f"{seconds:g} s ({str(error).splitlines()[0][:200]}); start all of them, or set "
            "PGSO_PATIENCE to more seconds"
        ) from None
    try:
        yield place
        # gloo's threads free the last tensors, and need Python's lock for it. Ending the group
        # holds that lock and would wait for them forever (pytorch#56297). Here they have time.
        dist.barrier()
    except RuntimeError as error:  # gloo and nccl have no class of their own for a lost process
        is_lost = isinstance(error, dist.DistError)
        if not is_lost and not any(sign in str(error).lower() for sign in SIGNS_OF_LOSS):
            raise
        raise LostProcess(
            f"process {place.rank} of {place.num_ranks} lost another one "
            f"({str(error).splitlines()[0][:200]}); "
            "start the same command again, and the run goes on from its last checkpoint"
        ) from None
    finally:
        dist.destroy_process_group()
