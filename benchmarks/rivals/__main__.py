"""``python -m benchmarks.rivals run [--splits N] [--rivals A,B] [DATASET ...]``, or ``page``.

``run`` measures what has no record yet, one process per cell, and appends to
``results/rivals/cells.jsonl``; it can be stopped and started at any time. ``again`` measures
``find`` once more if its ladder has moved. ``page`` writes docs/rivals.md, its picture and the
sentence in README from the records. ``rank`` and ``speed`` measure the two other tables.
"""

import json
import sys
from importlib import import_module

from benchmarks.rivals import ledger
from benchmarks.rivals.field import DATASETS, RIVALS, has_heads


def run(arguments: list[str]) -> None:
    """Measure every missing cell. What rivals import is imported once, here."""
    splits, names = 10, list(RIVALS)
    while arguments[:1] in (["--splits"], ["--rivals"]):
        option, value, *arguments = arguments
        if option == "--splits":
            splits = int(value)
        else:
            names = value.split(",")
    if not has_heads():
        names = [name for name in names if name != "find"]
    for name in names:
        RIVALS[name].call()
    chosen = [DATASETS[name] for name in arguments or DATASETS]
    known = {cell: r for cell, r in ledger.read().items() if is_current(r)}
    for cell in ledger.missing(known, splits, chosen, [RIVALS[name] for name in names]):
        measure(cell)


def is_current(record: ledger.Record) -> bool:
    """Whether a record of ``find`` is of today's ladder; those of others always are."""
    from pgso.records.numerics import LADDER

    return record["rival"] not in ledger.OURS or record["ladder"] == LADDER


def measure(cell: ledger.Cell) -> None:
    """Run one cell in a process of its own, and keep what it says."""
    from benchmarks.rivals.cell import in_a_process

    try:
        record = in_a_process(*cell)
    except RuntimeError as error:
        print(*cell, error, flush=True)
        return
    ledger.append(record)
    print(*cell, f"{record['test']:.4f} {record['seconds']:.1f} s", record["chosen"], flush=True)


def main(arguments: list[str]) -> None:
    """One command."""
    command, *rest = arguments or ["run"]
    if command == "run":
        run(rest)
    elif command == "cell":
        dataset, split, rival = rest
        from benchmarks.rivals import cell

        print(json.dumps(cell.measure(dataset, int(split), rival), ensure_ascii=False))
    elif command in ("page", "rank", "speed"):
        import_module(f"benchmarks.rivals.{command}").main(rest)
    else:
        raise SystemExit(f"no command is called {command!r}; known: run, cell, page, rank, speed")


if __name__ == "__main__":
    main(sys.argv[1:])
