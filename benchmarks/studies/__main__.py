"""``python -m benchmarks.studies``: time one short run of every kind that the studies consist of.

A kind is a dataset with a conv and an operator. What was timed with today's numerics is not timed
again. The times are of one core. The short runs go to ``results/timing/records.jsonl``, from
which ``pgso run all --plan`` and ``docs/studies.md`` estimate hours. Stopping loses nothing but the
run under way.
"""

import time
from pathlib import Path

from pgso.training.engines import one_thread, run_one
from pgso_studies.ledger import read_ledger, write_current
from pgso_studies.plan import Timing, timings_of, untimed_kinds

RESULTS = Path(__file__).parents[2] / "results"


def main() -> None:
    """Time, and write after every run."""
    ledger, timings = RESULTS / "timing" / "records.jsonl", timings_of(RESULTS)
    kinds, loaded = untimed_kinds(timings), set()
    for number, spec in enumerate(kinds, start=1):
        with one_thread():
            if spec.dataset not in loaded:
                run_one(spec.but(epochs=1))  # reads the files, compiles what there is to compile
                loaded.add(spec.dataset)
            start = time.process_time()  # CPU time of one core: other programs do not count
            record = run_one(spec)
            seconds = time.process_time() - start
        if record.status == "failed":
            print(f"failed: {spec.dataset} {spec.conv}: {(record.error or '').splitlines()[-1]}")
            continue
        timings.add(Timing(spec, seconds))
        record = record.model_copy(update={"timing": {"seconds": seconds}})
        write_current(ledger, [*read_ledger(ledger).values(), record])
        what = f"{spec.dataset} {spec.conv} {spec.operator}, {spec.epochs} epochs"
        print(f"{number}/{len(kinds)} {what}: {seconds:.1f} s", flush=True)


if __name__ == "__main__":
    main()
