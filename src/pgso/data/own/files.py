"""The files of a user's folder: CSV, or Parquet where pyarrow is installed."""

from datetime import date, datetime
from pathlib import Path
from typing import Any

from pgso.errors import InputError

NAMES = ("edges", "features", "labels", "splits", "targets")
SUFFIXES = (".csv", ".parquet")


def file_of(folder: Path, name: str) -> Path | None:
    """The file of that name (one of ``NAMES``), in either format; None if there is none.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> _ = (folder / "edges.csv").write_text("a,b")
        >>> file_of(folder, "edges").name, file_of(folder, "labels")
        ('edges.csv', None)
    """
    files = [folder / f"{name}{suffix}" for suffix in SUFFIXES]
    files = [file for file in files if file.is_file()]
    if len(files) > 1:
        raise InputError(f"{folder} has {' and '.join(f.name for f in files)}; remove one of them")
    return files[0] if files else None


def read_parquet(path: Path) -> tuple[list[str], list[list[str]]]:
    """The names of the columns, and their cells as text; a null is an empty cell."""
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise InputError(
            f"{path} needs pyarrow: pip install pyarrow, or write it as {path.stem}.csv"
        ) from None
    try:
        table = parquet.read_table(path)
    except (ArrowException, OSError) as error:
        raise InputError(f"{path} is not readable as Parquet ({str(error)[:100]})") from None
    if not table.num_rows:
        raise InputError(f"{path} has no rows; write at least one")
    return table.column_names, [
        [_text(cell) for cell in column.to_pylist()] for column in table.columns
    ]


def _text(cell: Any) -> str:
    if cell is None:
        return ""
    if isinstance(cell, date | datetime):
        return cell.isoformat()
    return str(cell).lower() if isinstance(cell, bool) else str(cell).strip()
