"""The ledgers in results/: what a spec gave, it gave once."""

from pathlib import Path

from pgso.records.ledger import read_ledger

RESULTS = Path(__file__).parents[2] / "results"


def test_no_spec_has_two_results_of_todays_numerics():
    """Studies share specs. Older revisions are not judged: their dropout changed in between."""
    results = {}
    for ledger in sorted(RESULTS.glob("*/records.jsonl")):
        for key, record in read_ledger(ledger).items():
            if record.is_current:
                scores = (record.status, record.val, record.test, record.epoch, record.parameters)
                first = results.setdefault(key, (ledger.parent.name, scores))
                assert first[1] == scores, f"{key} in {first[0]} and in {ledger.parent.name}"
