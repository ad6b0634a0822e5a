"""Several processes on this machine, joined as torchrun would join them."""

import multiprocessing
import os
import socket
import sys
import traceback

import torch

# A server that has imported torch once; every process is a fork of it, without our threads.
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["pgso.training.fit"])


def run(num_ranks, function, *args, folder, environment=None):
    """Call ``function(place, *args)`` in every process; their results, or what they failed with."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    started = [
        CONTEXT.Process(
            target=_call, args=(rank, num_ranks, port, folder, environment, function, args)
        )
        for rank in range(num_ranks)
    ]
    for process in started:
        process.start()
    for process in started:
        process.join(120)
    assert not any(process.is_alive() for process in started)
    return [_result(folder, rank, process) for rank, process in enumerate(started)]


def _result(folder, rank, process):
    path = folder / f"result-{rank}.pt"
    if path.exists():
        actual = torch.load(path, weights_only=False)
        path.unlink()
        return actual
    return process.exitcode


def _call(rank, num_ranks, port, folder, environment, function, args):
    os.environ |= {
        "RANK": str(rank),
        "WORLD_SIZE": str(num_ranks),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        **(environment or {}),
    }
    torch.set_num_threads(1)
    from pgso.scale.place import joined

    try:
        with joined() as place:
            result = function(place, *args)
    except Exception as error:
        traceback.print_exc(file=sys.stderr)
        result = error
    torch.save(result, folder / f"result-{rank}.pt")
