"""What the reader of a comparison has to be told besides the numbers."""

from collections.abc import Iterable, Sequence

from pgso.records import RunRecord
from pgso.report.labels import LABELS

FEW_SEEDS = 5


def notes_on(records: Sequence[RunRecord]) -> Iterable[str]:
    """What ended badly, what was left out and why, what to be careful with."""
    by_operator: dict[str, set[int]] = {name: set() for name in LABELS}
    for record in records:
        name = f"{LABELS[record.spec.operator]}, seed {record.spec.seed}"
        if record.status == "failed":
            yield f"{name} failed and is left out: {record.error or 'no reason was recorded'}"
        elif record.status == "diverged" and record.test is None:
            yield f"{name} diverged before it had a score and is left out: {record.error}"
        elif record.status == "diverged":
            yield f"{name} diverged; its best epoch before that counts: {record.error}"
        if record.test is not None:
            by_operator[record.spec.operator].add(record.spec.seed)
    one_layer = all(record.spec.num_layers == 1 for record in records)
    compared = by_operator["fixed"] and by_operator["pgso"]
    if one_layer and compared and not by_operator["mpgso"]:
        yield "the network has one layer, so that mPGSO is PGSO and is left out"
    fixed = by_operator.pop("fixed")
    for operator, seeds in by_operator.items():
        unpaired = sorted(seeds ^ fixed) if seeds and fixed else []
        if unpaired:
            listed = ", ".join(map(str, unpaired))
            noun = "seed" if len(unpaired) == 1 else "seeds"
            yield (
                f"{noun} {listed} {'is' if len(unpaired) == 1 else 'are'} not in the comparison of "
                f"{LABELS[operator]} with fixed: scored with one of the two only"
            )
    paired = [len(seeds & fixed) for seeds in by_operator.values() if seeds & fixed]
    if paired and min(paired) == 1:
        yield "one seed gives no interval: nothing can be said about chance"
    elif paired and min(paired) < FEW_SEEDS:
        yield f"only {min(paired)} seeds: the intervals rest on few differences"
