"""How far a sweep has come: a bar on a terminal, a line now and then elsewhere."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from pgso.cli.terminal import Console, visible

LINE_EVERY = 10.0  # seconds


@contextmanager
def progress(console: Console, what: str, total: int, unit: str = "runs") -> Iterator[Any]:
    """Give a function to call after each run or epoch, with a text and how many there were."""
    if console.is_terminal:
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
        )
        with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
            task = bar.add_task(visible(what), total=total)

            def move(text: str, steps: int = 1) -> None:
                bar.update(task, advance=steps, description=visible(f"{what}: {text}"))

            yield move
        return
    started = last = time.monotonic()
    done = 0

    def line(text: str, steps: int = 1) -> None:
        nonlocal done, last
        done += steps
        now = time.monotonic()
        if now - last >= LINE_EVERY or done == total:
            last = now
            left = (now - started) / done * (total - done)
            console.print(f"{what}: {done}/{total} {unit}, about {left:.0f} s left ({text})")

    yield line
