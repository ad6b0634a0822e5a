"""The processes of a run that torchrun has started: joining them, and losing one."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import PrefixStore, Store, TCPStore

from pgso.errors import InputError, PGSOError
from pgso.launch import Launch, launch, patience
from pgso.scale.place import Place, Where, place_of

ROLL_CALL = timedelta(seconds=5)  # in which all that are left report that one is lost


class LostProcess(PGSOError):  # noqa: N818  (it says what happened)
    """Another process of the run is gone."""


@contextmanager
def joined(device: Where = None) -> Iterator[Place]:
    """Join the processes that torchrun has started (nccl on GPUs, gloo else), if it has.

    Alone, this is a place on the device. When another process dies, does not answer or never joins,
    this one ends with a sentence that names it. It waits ``$PGSO_PATIENCE`` seconds, ten minutes by
    default.

    Args:
        device: Where to compute if this process is alone, as in :func:`pgso.fit`. Each of several
            processes has a device of its own: its GPU, or the CPU.
    """
    me = launch()
    if me.num_ranks == 1:
        yield place_of(device)
        return
    place = Place(_own_device(), me.rank, me.num_ranks)
    if dist.is_initialized():  # by the caller
        yield place
        return
    if device is not None and str(device) not in ("auto", place.device.type):
        raise InputError(
            f"torchrun gives every process its own device, and this one has {place.device}; "
            f"leave out device {str(device)!r}"
        )
    if place.device.type == "cuda":
        torch.cuda.set_device(place.device)
    seconds = patience()
    store = _meet(me, seconds)
    dist.init_process_group(
        "nccl" if place.device.type == "cuda" else "gloo",
        store=store,
        rank=me.rank,
        world_size=me.num_ranks,
        timeout=timedelta(seconds=seconds),
    )
    try:
        with reporting_losses(place, store):
            yield place
            # gloo's threads free the last tensors, and need Python's lock for it. Ending the group
            # holds that lock and would wait for them forever (pytorch#56297). Here they have time.
            dist.barrier()
    finally:
        dist.destroy_process_group()


def _own_device() -> torch.device:
    """The GPU that torchrun has given to this process, or the CPU where there is none."""
    if not torch.cuda.is_available():
        return torch.device("cpu")
    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))


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
def reporting_losses(place: Place, store: Store) -> Iterator[None]:
    """Say in one sentence which process was lost, and how the run goes on."""
    try:
        yield
    except RuntimeError as error:  # gloo and nccl have no class of their own for it
        if not _is_broken_connection(error):
            raise
        silent = ", ".join(map(str, _silent_ranks(place, store))) or "another one"
        raise LostProcess(
            f"process {place.rank} of {place.num_ranks} lost process {silent} "
            f"({str(error).splitlines()[0][:200]}); "
            "start the same command again, and the run goes on from its last checkpoint"
        ) from None


def _silent_ranks(place: Place, store: Store) -> list[int]:
    """The processes that do not report the loss: they were killed, or are stopped."""
    store.set_timeout(ROLL_CALL)
    keys = [f"lost/{rank}" for rank in range(place.num_ranks)]
    try:
        store.set(keys[place.rank], "")
        with suppress(RuntimeError):
            store.wait(keys, ROLL_CALL)
        return [rank for rank, key in enumerate(keys) if not store.check([key])]
    except RuntimeError:  # the first process keeps the store
        return [0]


def _is_broken_connection(error: RuntimeError) -> bool:
    signs = ("gloo", "nccl", "connection", "socket", "peer", "timed out", "timeout")
    return isinstance(error, dist.DistError) or any(sign in str(error).lower() for sign in signs)
