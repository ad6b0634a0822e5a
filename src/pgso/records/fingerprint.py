"""The state of a user's own files, to see whether they have changed since a record was made."""

import hashlib
from pathlib import Path

# Of a folder.
READ = (
    "columns.json", "edges.csv", "features.csv", "features.npy", "labels.csv", "targets.csv",
    "splits.csv", "edges.parquet", "features.parquet", "labels.parquet", "targets.parquet",
    "splits.parquet",
)  # fmt: skip


READ_UP_TO = 2**26  # bytes of a file that are read: a twentieth of a second


def fingerprint(dataset: str) -> str | None:
    """A name for the state of a folder or file; None if it is neither.

    Names, sizes and contents count, so that a copy is the same data, and a file that is replaced
    by one of the same size and time is not. Of a file above 64 MB the first 64 MB are read, and
    its times and place on the disk count too. Files of a folder that are no part of the dataset do
    not count.
    """
    path = Path(dataset).expanduser()
    if not path.exists():
        return None
    files = [path] if path.is_file() else [path / name for name in READ if (path / name).is_file()]
    total = hashlib.sha256()
    for file in files:
        status = file.stat()
        facts: list[object] = [file.name, status.st_size]
        if status.st_size > READ_UP_TO:
            facts += [status.st_mtime_ns, status.st_ctime_ns, status.st_ino]
        total.update(repr(facts).encode(errors="surrogateescape"))
        with file.open("rb") as content:
            total.update(content.read(READ_UP_TO))
    return total.hexdigest()[:20]
