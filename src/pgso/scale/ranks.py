"""The processes of a run that torchrun has started: joining, averaging, gathering, losing one."""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch._C._distributed_c10d import PrefixStore, Store, TCPStore
from torch.nn.parallel import DistributedDataParallel

from pgso.errors import PGSOError
from pgso.launch import Launch, launch, patience

ROLL_CALL = timedelta(seconds=5)  # in which all that are left report that one is lost


class LostProcess(PGSOError):  # noqa: N818  (it says what happened)
    """Another process of the run is gone."""


def rank() -> int:
    """The number of this process; 0 where it is alone."""
    return dist.get_rank() if dist.is_initialized() else 0


def num_ranks() -> int:
    """How many processes share the run."""
    return dist.get_world_size() if dist.is_initialized() else 1


def device() -> torch.device:
    """Where this process computes: its own GPU if torchrun has started it, else the CPU."""
    if dist.is_initialized() and dist.get_backend() == "nccl":
        return torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    return torch.device("cpu")


def data_parallel(model: nn.Module) -> nn.Module:
    """The model with gradients averaged over all processes. A single process gets it unchanged."""
    learns = any(parameter.requires_grad for parameter in model.parameters())
    return DistributedDataParallel(model) if num_ranks() > 1 and learns else model


@contextmanager
def joined() -> Iterator[None]:
    """Join the processes that torchrun has started (nccl on GPUs, gloo else), if it has.

    Alone, this does nothing. When another process dies, does not answer or never joins, this one
    ends with a sentence that names it. It waits ``$PGSO_PATIENCE`` seconds, ten minutes by default.
    """
    me = launch()
    if me.num_ranks == 1 or dist.is_initialized():
        yield
        return
    backend = "nccl" if torch.cuda.is_available() else "gloo"
    if backend == "nccl":
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    seconds = patience()
    dist.init_process_group(
        backend,
        store=_meet(me, seconds),
        rank=me.rank,
        world_size=me.num_ranks,
        timeout=timedelta(seconds=seconds),
    )
    try:
        with reporting_losses():
            yield
            # gloo's threads free the last tensors, and need Python's lock for it. Ending the group
            # holds that lock and would wait for them forever (pytorch#56297). Here they have time.
            dist.barrier()
    finally:
        dist.destroy_process_group()


def _meet(me: Launch, seconds: float) -> Store:
    """The store that all processes share, once all of them are there."""
    # torchrun serves the store itself, also after it has started all processes again.
    served = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    limit = timedelta(seconds=seconds)
    try:
        server = TCPStore(
            me.host,
            me.port,
            me.num_ranks,
            is_master=me.rank == 0 and not served,
            timeout=limit,
            wait_for_workers=False,
        )
    except (RuntimeError, ValueError) as error:
        first = str(error).splitlines()[0][:200]
        raise LostProcess(
            f"process 0 did not answer at {me.host}:{me.port} within {seconds:g} s ({first}); "
            "start all processes, or set PGSO_PATIENCE to more seconds"
        ) from None
    store = PrefixStore(f"pgso/{attempt}", server)
    present = [f"joined/{rank}" for rank in range(me.num_ranks)]
    store.set(present[me.rank], "")
    try:
        store.wait(present, limit)
    except RuntimeError:
        absent = [str(rank) for rank, key in enumerate(present) if not store.check([key])]
        raise LostProcess(
            f"process {', '.join(absent)} of {me.num_ranks} did not join within {seconds:g} s; "
            "start all processes, or set PGSO_PATIENCE to more seconds"
        ) from None
    return store


@contextmanager
def reporting_losses() -> Iterator[None]:
    """Say in one sentence which process was lost, and how the run goes on."""
    try:
        yield
    except RuntimeError as error:  # gloo and nccl have no class of their own for it
        if num_ranks() == 1 or not _is_broken_connection(error):
            raise
        silent = ", ".join(map(str, _silent_ranks())) or "another one"
        raise LostProcess(
            f"process {rank()} of {num_ranks()} lost process {silent} "
            f"({str(error).splitlines()[0][:200]}); "
            "start the same command again, and the run goes on from its last checkpoint"
        ) from None


def _silent_ranks() -> list[int]:
    """The processes that do not report the loss: they were killed, or are stopped."""
    store = dist.distributed_c10d._get_default_store()
    store.set_timeout(ROLL_CALL)
    keys = [f"lost/{place}" for place in range(num_ranks())]
    try:
        store.set(keys[rank()], "")
        with suppress(RuntimeError):
            store.wait(keys, ROLL_CALL)
        return [place for place, key in enumerate(keys) if not store.check([key])]
    except RuntimeError:  # the first process keeps the store
        return [0]


def shares(indices: Tensor) -> list[Tensor]:
    """What each process takes of a batch."""
    return [indices[place :: num_ranks()] for place in range(num_ranks())]


def of_first(values: Tensor) -> Tensor:
    """The values of the first process, in every process."""
    if num_ranks() > 1:
        values = values.to(device())
        dist.broadcast(values, src=0)
    return values.cpu()


def text_of_first(text: str | None) -> str | None:
    """The text of the first process, in every process."""
    if num_ranks() == 1:
        return text
    texts = [text]
    dist.broadcast_object_list(texts, src=0, device=device())
    return texts[0]


def average(tensors: Iterable[Tensor | None]) -> None:
    """Replace tensors by their mean over all processes, in one exchange."""
    present = [tensor for tensor in tensors if tensor is not None]
    if num_ranks() == 1 or not present:
        return
    flat = torch.cat([tensor.flatten() for tensor in present])
    dist.all_reduce(flat)
    flat /= num_ranks()
    parts = flat.split([tensor.numel() for tensor in present])
    for tensor, mean in zip(present, parts, strict=True):
        tensor.copy_(mean.view_as(tensor))


def total(value: float) -> float:
    """The sum of a number over all processes."""
    if num_ranks() == 1:
        return value
    number = torch.tensor(value, dtype=torch.float64, device=device())
    dist.all_reduce(number)
    return number.item()


def gathered(
    rows: Tensor,  # (n_r, F) this process's
    sizes: Sequence[int],  # n_r of every process
) -> Tensor:  # (sum of n_r, F)
    """The rows of all processes, in their order, in every process."""
    blocks = [
        rows.contiguous() if place == rank() else rows.new_empty(size, *rows.shape[1:])
        for place, size in enumerate(sizes)
    ]
    for place, block in enumerate(blocks):
        if num_ranks() > 1:
            dist.broadcast(block, src=place)
    return torch.cat(blocks)


def _is_broken_connection(error: RuntimeError) -> bool:
    signs = ("gloo", "nccl", "connection", "socket", "peer", "timed out", "timeout")
    return isinstance(error, dist.DistError) or any(sign in str(error).lower() for sign in signs)
