"""Whether a user's own files are still those that a record was made of."""

import hashlib
from pathlib import Path

# Of a folder.
READ = ("edges.csv", "features.csv", "features.npy", "labels.csv", "targets.csv", "splits.csv")


def fingerprint(dataset: str) -> str | None:
    """A name for the state of a folder or file: names, sizes and times; None if it is neither.

    Files of a folder that are no part of the dataset do not count. A copy counts as another
    state, which costs a run and never gives a wrong result.
    """
    path = Path(dataset).expanduser()
    if not path.exists():
        return None
    files = [path] if path.is_file() else [path / name for name in READ if (path / name).is_file()]
    states = [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    return hashlib.sha256(repr(states).encode()).hexdigest()[:20]
