"""The keys of all published records: a spec is found again only under the key it was saved with."""

import hashlib
import json
from pathlib import Path

from pgso_studies.ledger import ledgers_in, read_ledger

RESULTS = Path(__file__).parents[2] / "results"
# Written by this file when it is run: python -m tests.studies.test_keys
KEYS = Path(__file__).parent / "keys.json"


def keys_of(results: Path) -> dict[str, list]:
    """How many records each ledger holds, and one digest of all their keys."""
    return {path.parent.name: _counted(read_ledger(path)) for path in ledgers_in(results)}


def _counted(keys) -> list:
    return [len(keys), hashlib.sha256("\n".join(sorted(keys)).encode()).hexdigest()]


def test_every_published_record_keeps_its_key():
    assert keys_of(RESULTS) == json.loads(KEYS.read_text())


if __name__ == "__main__":
    KEYS.write_text(json.dumps(keys_of(RESULTS), indent=1) + "\n")
