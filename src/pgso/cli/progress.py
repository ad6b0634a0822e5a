"""How far a sweep has come: a bar on a terminal, a line now and then elsewhere."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

LINE_EVERY = 10.0  # seconds


@contextmanager
def progress(console: Console, what: str, total: int, unit: str = "runs") -> Iterator[Any]:
    """Give a function to call after each run or epoch; it takes a text that describes it."""
    if console.is_terminal:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
            task = bar.add_task(what, total=total)
            yield lambda text: bar.update(task, advance=1, description=f"{what}: {text}")
        return
    started = last = time.monotonic()
    done = 0

    def line(text: str) -> None:
        nonlocal done, last
        done += 1
        now = time.monotonic()
        if now - last >= LINE_EVERY or done == total:
            last = now
            left = (now - started) / done * (total - done)
            console.print(f"{what}: {done}/{total} {unit}, about {left:.0f} s left ({text})")

    yield line
