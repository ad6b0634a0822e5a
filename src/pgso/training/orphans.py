"""Importing this module ends the process soon after its parent has ended.

The server that workers are forked from imports torch for seconds, on a busy machine for half a
minute. Only after that it would notice that the command which has started it was killed. So it
imports this module first, and looks at its parent every second. Timers are not inherited: workers,
which are forks of the server, have a watch of their own (:mod:`pgso.training.workers`).
"""

import atexit
import os
import signal
from typing import Any

SECONDS = 1.0
parent = os.getppid()


def end_if_orphaned(*_: Any) -> None:
    """End without a word if the parent is another process than at the start."""
    if os.getppid() != parent:
        os._exit(1)


signal.signal(signal.SIGALRM, end_if_orphaned)
signal.setitimer(signal.ITIMER_REAL, SECONDS, SECONDS)
atexit.register(signal.setitimer, signal.ITIMER_REAL, 0)  # a handler is gone before the timer is
