"""The ledgers in results/: what a spec gave, it gave once."""

from pathlib import Path

from pgso_studies.ledger import ledgers_in, read_ledger

RESULTS = Path(__file__).parents[2] / "results"
MOST_BYTES = 30 * 2**20


def test_no_spec_has_two_results():
    """Studies share specs, also where their records are of different revisions."""
    results = {}
    for ledger in ledgers_in(RESULTS):
        for key, record in read_ledger(ledger).items():
            scores = (record.status, record.val, record.test, record.epoch, record.parameters)
            first = results.setdefault(key, (ledger.parent.name, scores))
            assert first[1] == scores, f"{key} in {first[0]} and in {ledger.parent.name}"


def test_a_ledger_is_of_one_revision():
    for ledger in ledgers_in(RESULTS):
        revisions = {record.numerics for record in read_ledger(ledger).values()}
        assert len(revisions) <= 1, f"{ledger}: revisions {sorted(revisions)}"


def test_all_ledgers_together_stay_small():
    # Not what a run has set aside here (records.1.jsonl): git ignores it.
    sizes = {path: path.stat().st_size for path in RESULTS.glob("**/records.jsonl")}
    assert sum(sizes.values()) < MOST_BYTES, sizes
