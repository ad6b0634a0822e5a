"""``python -m pgso``, and the ``pgso`` command."""

import atexit
import os
import signal
import sys
import threading
from contextlib import suppress
from typing import Any, NoReturn


def main() -> None:
    """Run the command line. Ctrl-C ends it in one sentence, while it is still importing too."""
    interrupted = signal.signal(signal.SIGINT, stop)
    from pgso.cli.main import run

    signal.signal(signal.SIGINT, interrupted)
    try:
        run()
    except SystemExit as event:
        tracker: Any = sys.modules.get("joblib.externals.loky.backend.resource_tracker")
        has_workers = tracker is not None and tracker._resource_tracker._pid is not None
        is_alone = threading.active_count() == 1 and not has_workers  # else joblib tidies up
        if "torch" in sys.modules and isinstance(event.code, int) and is_alone:
            leave(event.code)
        raise
    finally:
        signal.signal(signal.SIGINT, stop)  # there is nothing left to save


def stop(*_: Any) -> NoReturn:
    """End at once: an exception in the middle of an import may surface as anything."""
    os.write(2, b"error: stopped before anything was done\n")
    os._exit(130)


def leave(code: int) -> NoReturn:
    """End without taking apart what was imported: with torch that takes 1.2 s of 4.6 s.

    It assumes that no other thread runs, and that whatever must be undone is registered with
    ``atexit`` (``test_a_command_leaves_nothing_behind``).
    """
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(BrokenPipeError):  # nobody reads on
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
