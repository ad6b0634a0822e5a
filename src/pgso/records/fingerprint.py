"""The state of a user's own files, to see whether they have changed since a record was made."""

import hashlib
import re
from pathlib import Path

_TABLE = re.compile(r"(?i)(edge|feature|node|label|target|split)s?\.(csv|tsv|txt|parquet)(\.gz)?")


def file_kind(name: str) -> str | None:
    """What a file of a user's folder holds, by its name; None: it is no part of the dataset.

    Example:
        >>> file_kind("Edges.CSV"), file_kind("nodes.tsv.gz"), file_kind("notes.txt")
        ('edges', 'features', None)
    """
    if name.lower() in ("columns.json", "features.npy"):
        return "columns" if name.lower() == "columns.json" else "array"
    table = _TABLE.fullmatch(name)
    if table is None:
        return None
    return "features" if table[1].lower() == "node" else f"{table[1].lower()}s"


ORDER = ("columns", "edges", "features", "array", "labels", "targets", "splits", None)
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
    files = [path]
    if path.is_dir():
        some = (file for file in path.iterdir() if file_kind(file.name) and file.is_file())
        files = sorted(some, key=lambda file: (ORDER.index(file_kind(file.name)), file.name))
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
