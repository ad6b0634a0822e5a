"""``python -m pgso``, and the ``pgso`` command."""

import os
import signal
from typing import Any, NoReturn


def main() -> None:
    """Run the command line. Ctrl-C ends it in one sentence, while it is still importing too."""
    interrupted = signal.signal(signal.SIGINT, stop)
    from pgso.cli.main import run

    signal.signal(signal.SIGINT, interrupted)
    try:
        run()
    finally:
        signal.signal(signal.SIGINT, stop)  # there is nothing left to save


def stop(*_: Any) -> NoReturn:
    """End at once: an exception in the middle of an import may surface as anything."""
    os.write(2, b"error: stopped before anything was done\n")
    os._exit(130)


if __name__ == "__main__":
    main()
