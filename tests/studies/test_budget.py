from pgso.records import RunSpec
from pgso_studies.plan import PORTION, UNTIMED, Budget, Timing, Timings

SPEC = RunSpec(dataset="karate")
RUNS = [SPEC.but(seed=seed) for seed in range(100)]


class Clock:
    """Stands still unless told."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def budget(minutes: float, seconds: float, workers: int = 1) -> tuple[Budget, Clock]:
    clock = Clock()
    return Budget(minutes, workers, Timings([Timing(SPEC, seconds)]), clock), clock


def test_as_many_runs_are_started_as_fit():
    limit, clock = budget(minutes=4, seconds=60)
    assert limit.portion(RUNS) == RUNS[:4]
    clock.now = 200.0
    assert limit.portion(RUNS) == []  # 40 seconds are left
    clock.now = 241.0
    assert limit.portion(RUNS) == []


def test_workers_share_the_minutes():
    limit, _ = budget(minutes=2, seconds=60, workers=3)
    assert limit.portion(RUNS) == RUNS[:6]


def test_a_study_is_asked_again_every_few_minutes():
    limit, _ = budget(minutes=1000, seconds=PORTION / 10)
    assert limit.portion(RUNS) == RUNS[:10]
    limit, _ = budget(minutes=1000, seconds=3 * PORTION)
    assert limit.portion(RUNS) == RUNS[:1]


def test_what_would_not_end_in_time_is_left_out_for_a_shorter_one():
    limit, _ = budget(minutes=2, seconds=60)
    long = SPEC.but(epochs=2000)
    assert limit.portion([long, *RUNS[:1]]) == RUNS[:1]
    assert limit.portion([long]) == []


def test_a_run_of_which_nothing_is_known_is_given_a_minute():
    limit = Budget(2 * UNTIMED / 60, 1, Timings(), Clock())
    assert limit.portion(RUNS) == RUNS[:2]
