"""Which of how many processes this one is, as torchrun says in environment variables."""

import os
from typing import NamedTuple

from pgso.errors import InputError

PATIENCE = 600.0  # seconds a process waits for another one that does not answer
ADVICE = "start several processes with torchrun, or unset RANK and WORLD_SIZE"


class Launch(NamedTuple):
    """One of the processes of a run."""

    rank: int = 0
    num_ranks: int = 1
    host: str = ""  # where the first process listens
    port: int = 0


def launch() -> Launch:
    """This process as torchrun has started it, or a single process without torchrun.

    Half of what torchrun sets is refused: a lone ``RANK=1`` would train and write nothing.
    """
    given = {name: os.environ.get(name) for name in ("RANK", "WORLD_SIZE")}
    if given["RANK"] is None and given["WORLD_SIZE"] in (None, "1"):
        return Launch()
    for name, value in given.items():
        if value is None:
            other = "WORLD_SIZE" if name == "RANK" else "RANK"
            raise InputError(f"the environment has {other} but not {name}; {ADVICE}")
    rank, num_ranks = (_number(name) for name in given)
    if not rank < num_ranks:
        raise InputError(f"RANK is {rank}, but WORLD_SIZE is {num_ranks}; {ADVICE}")
    if num_ranks == 1:
        return Launch()
    for name in ("MASTER_ADDR", "MASTER_PORT"):
        if not os.environ.get(name):
            raise InputError(f"the environment has RANK and WORLD_SIZE but not {name}; {ADVICE}")
    return Launch(rank, num_ranks, os.environ["MASTER_ADDR"], _number("MASTER_PORT"))


def patience() -> float:
    """How many seconds to wait for a process that does not answer: ``$PGSO_PATIENCE``, or 600."""
    given = os.environ.get("PGSO_PATIENCE", str(PATIENCE))
    try:
        seconds = float(given)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 10**6:
        raise InputError(f"PGSO_PATIENCE must be a number of seconds, got {given!r}")
    return seconds


def _number(name: str) -> int:
    text = os.environ[name]
    if not text.isdecimal() or len(text) > 9:
        raise InputError(f"{name} must be a whole number from 0 on, got {text[:40]!r}; {ADVICE}")
    return int(text)
