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
    """This process as torchrun has started it; half of what torchrun sets is refused."""
    names = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
    given = {name: value for name in names if (value := os.environ.get(name))}
    if (given.get("RANK"), given.get("WORLD_SIZE")) in ((None, None), (None, "1"), ("0", "1")):
        return Launch()
    for name in names:
        if name not in given:
            there = " and ".join(word for word in names[:2] if word in given)
            raise InputError(f"the environment has {there} but not {name}; {ADVICE}")
        if name != "MASTER_ADDR" and not (given[name].isdecimal() and len(given[name]) < 10):
            text = given[name][:40]
            raise InputError(f"{name} must be a whole number from 0 on, got {text!r}; {ADVICE}")
    rank, num_ranks = int(given["RANK"]), int(given["WORLD_SIZE"])
    if not rank < num_ranks:
        raise InputError(f"RANK is {rank}, but WORLD_SIZE is {num_ranks}; {ADVICE}")
    return Launch(rank, num_ranks, given["MASTER_ADDR"], int(given["MASTER_PORT"]))


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
