"""What was run: the choices, the versions, the seconds, and how to have it again."""

from collections.abc import Mapping, Sequence
from statistics import median

from pgso.records import RunRecord, RunSpec
from pgso.report.grid import Grid
from pgso.report.labels import LABELS, plain
from pgso.report.series import by_operator
from pgso.report.tables import NONE


def provenance_grids(
    records: Sequence[RunRecord], links: Mapping[str, str] | None = None
) -> list[Grid]:
    """Three tables: the runs, the choices they share, the software.

    Args:
        records: Runs of one setting.
        links: Addresses of records, by key.
    """
    return [_runs(records, links or {}), _choices(records), _versions(records)]


def chosen_epochs_grid(records: Sequence[RunRecord]) -> Grid:
    """Which epoch validation chose: a row an operator."""
    rows = []
    for name, group in by_operator(records, LABELS).items():
        epochs = sorted(run.epoch + 1 for run in group if run.epoch is not None)
        if epochs:
            middle = f"{median(epochs):g}"
            ends = f"{epochs[0]} to {epochs[-1]}"
            rows.append((LABELS[name], middle, ends, str(group[0].spec.epochs)))
    header = ("operator", "chosen epoch (median)", "earliest to latest", "epochs trained")
    return Grid("Chosen epochs", header, tuple(rows), "Chosen on validation, counted from 1.")


def python_code(records: Sequence[RunRecord]) -> str:
    """The lines of Python that run the same specs again."""
    spec = records[0].spec
    choices = spec.model_dump(exclude_defaults=True, exclude={"operator", "seed"})
    arguments = ", ".join(f"{name}={value!r}" for name, value in choices.items())
    operators = [name for name in LABELS if any(run.spec.operator == name for run in records)]
    seeds = sorted({run.spec.seed for run in records})
    return (
        "import pgso\n\n"
        f"spec = pgso.RunSpec({arguments})\n"
        f"for operator in {operators!r}:\n"
        f"    for seed in {seeds!r}:\n"
        "        record = pgso.fit(spec.but(operator=operator, seed=seed))\n"
    )


def _runs(records: Sequence[RunRecord], links: Mapping[str, str]) -> Grid:
    order = list(LABELS)
    runs = sorted(records, key=lambda run: (order.index(run.spec.operator), run.spec.seed))
    return Grid(
        title="The runs",
        header=("operator", "seed", "status", "chosen epoch", "val", "test", "seconds", "key"),
        rows=tuple(
            (
                LABELS[run.spec.operator] + (f" ({LABELS[run.chosen]})" if run.chosen else ""),
                str(run.spec.seed),
                run.status,
                NONE if run.epoch is None else str(run.epoch + 1),
                run.objective.written(run.val, 1),
                run.objective.written(run.test, 1),
                NONE if "seconds" not in run.timing else plain(run.timing["seconds"]),
                run.spec.key,
            )
            for run in runs
        ),
        caption="The key is the name of the run's record. Epochs are counted from 1.",
        links=links,
    )


def _choices(records: Sequence[RunRecord]) -> Grid:
    spec = records[0].spec
    chosen = spec.model_dump(exclude={"operator", "seed"})
    defaults = RunSpec(dataset=spec.dataset).model_dump()
    return Grid(
        title="The choices that all runs share",
        header=("choice", "value", "default"),
        rows=tuple(
            (name, _text(value), "" if name == "dataset" else _text(defaults[name]))
            for name, value in chosen.items()
        ),
    )


def _versions(records: Sequence[RunRecord]) -> Grid:
    names = list(dict.fromkeys(name for run in records for name in run.versions))
    return Grid(
        title="The software",
        header=("part", "version"),
        rows=(
            *(
                (
                    name,
                    ", ".join(
                        sorted({run.versions[name] for run in records if name in run.versions})
                    ),
                )
                for name in names
            ),
            ("numerics", ", ".join(sorted({f"revision {run.numerics}" for run in records}))),
        ),
    )


def _text(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={entry}" for name, entry in value.items()) or NONE
    return NONE if value is None else str(value)
