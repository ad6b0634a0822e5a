"""What a page shows besides runs: data, baselines, spectra; read, or computed once."""

from collections.abc import Sequence
from pathlib import Path

from pgso.cli import folders
from pgso.cli.terminal import Console
from pgso.records import RunRecord, Store
from pgso.records.data import DataRecord
from pgso.records.record import without_spectra


def data_of(records: Sequence[RunRecord], store: Store, data: Path | None) -> list[DataRecord]:
    """What is known about the data of some runs, one per seed; torch is loaded only to compute."""
    specs = {record.spec.seed: record.spec for record in records}
    stored = [store.data(spec) for spec in specs.values()]
    complete = [record for record in stored if record is not None]
    if len(complete) < len(stored):
        from pgso.training.pages import complete_data_records

        complete = list(complete_data_records(specs.values(), store, data).values())
    return complete


def with_spectra(records: Sequence[RunRecord], store: Store, data: Path | None) -> list[RunRecord]:
    """The records with what a page shows of their operators; torch is loaded only to compute."""
    if not without_spectra(records):
        return list(records)
    from pgso.training.pages import complete_spectra

    return complete_spectra(records, store, data)


def show_doubts(console: Console, records: Sequence[RunRecord], data: Sequence[DataRecord]) -> None:
    """Print what a network must beat, and what speaks against the result."""
    from pgso.report.about import baselines_grid
    from pgso.report.doubts import doubts

    baselines = baselines_grid(data, records[0].objective)
    if baselines.rows:
        console.print(baselines)
    for doubt in doubts(records, data):
        console.print(f"Note: {doubt}.", soft_wrap=True, style="bold")


def check_model(path: Path | None) -> None:
    """Refuse, before the work, a place where no model can be saved."""
    if path is None:
        return
    if path.suffix == ".safetensors":
        folders.check_destination("--save", path)
        return
    from pgso.saved import check_folder

    check_folder(path)
    folders.check_destination("--save", path.parent, folder=True)


def about_model(path: Path) -> str:
    """Where a model was saved, and how large it is."""
    from pgso.saved import size_of

    size = size_of(path)
    return f"{path} ({size / 1e6:.1f} MB)" if size >= 100_000 else f"{path} ({size / 1e3:.0f} kB)"
