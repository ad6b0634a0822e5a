"""So many minutes for a study: which of its runs are started, and which are left out."""

import time
from collections.abc import Callable, Sequence

from pgso.experiments.plan import Timings
from pgso.records import RunSpec

PORTION = 300.0  # seconds after which a study is asked again what matters most
UNTIMED = 60.0  # seconds that a run is given of which nothing is known


class Budget:
    """Minutes that may pass, spent on the first runs of a list that fit.

    Runs are handed out in portions of some minutes. Between two portions the study is asked again,
    because the second stage of an important dataset comes before the first stage of another one.
    A run that would not end in time, as far as its estimate tells, is not started.

    Args:
        minutes: How long.
        workers: How many runs go on at once.
        timings: What runs are estimated from.
        clock: Seconds; tests hand over their own.
    """

    def __init__(
        self,
        minutes: float,
        workers: int,
        timings: Timings,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.timings, self.workers, self.clock = timings, workers, clock
        self.end = clock() + 60 * minutes

    def portion(self, specs: Sequence[RunSpec]) -> list[RunSpec]:
        """The next runs to make, the first ones that fit; empty if none does."""
        left = self.end - self.clock()
        if left <= 0:
            return []
        total, limit = 0.0, min(left, PORTION) * self.workers
        taken: list[RunSpec] = []
        for spec in specs:
            seconds = self.timings.seconds(spec)
            seconds = UNTIMED if seconds is None else seconds
            if seconds > left:
                continue  # a shorter one further down may fit
            if taken and total + seconds > limit:
                break
            taken.append(spec)
            total += seconds
        return taken
