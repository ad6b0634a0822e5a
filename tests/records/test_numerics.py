"""Records know the revision of their numerics; old ones are kept, run again, and never mixed."""

import json
import subprocess
import sys

import pytest

import pgso
from pgso.errors import InputError
from pgso.records import NUMERICS, RunRecord, RunSpec, Store
from pgso.records.numerics import LADDER, check_one_revision
from pgso_studies.ledger import read_ledger, write_current, write_ledger

SPECS = [RunSpec(dataset="karate", seed=seed) for seed in range(3)]


def old(spec, **fields):
    return RunRecord(spec=spec, numerics=NUMERICS - 1, **fields)


def test_the_revision_is_public_and_needs_no_torch():
    program = "import sys, pgso; assert pgso.NUMERICS >= 2; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)
    assert pgso.NUMERICS == NUMERICS


def test_a_record_made_here_is_current_and_its_file_says_so(tmp_path):
    store = Store(tmp_path)
    store.put(RunRecord(spec=SPECS[0]))
    assert json.loads(store.path(SPECS[0]).read_text())["numerics"] == NUMERICS
    assert store.get(SPECS[0]).is_current


def test_a_file_that_says_nothing_is_of_revision_1(tmp_path):
    store = Store(tmp_path)
    store.put(RunRecord(spec=SPECS[0]))
    path = store.path(SPECS[0])
    fields = json.loads(path.read_text())
    del fields["numerics"]
    path.write_text(json.dumps(fields))
    (record,) = store
    assert record.numerics == 1


def test_a_record_of_another_revision_is_not_done_and_stays_until_it_is_replaced(tmp_path):
    store = Store(tmp_path)
    for spec in SPECS:
        store.put(old(spec))
    store.put(RunRecord(spec=SPECS[1]))
    assert store.missing(SPECS) == [SPECS[0], SPECS[2]]
    assert store.get(SPECS[0]) is None
    assert store.path(SPECS[0]).is_file()


def test_a_ledger_says_the_revision_of_every_line(tmp_path):
    path = tmp_path / "records.jsonl"
    write_ledger(path, [RunRecord(spec=SPECS[0]), old(SPECS[1])])
    assert {r.spec.seed: r.numerics for r in read_ledger(path).values()} == {
        0: NUMERICS,
        1: NUMERICS - 1,
    }


def test_older_records_of_a_ledger_move_aside_and_none_is_lost(tmp_path):
    path = tmp_path / "records.jsonl"
    write_ledger(path, [old(SPECS[0], test=0.1), old(SPECS[1]), RunRecord(spec=SPECS[2])])
    aside = write_current(path, [RunRecord(spec=SPECS[0], test=0.2)])
    beside = tmp_path / f"records.{NUMERICS - 1}.jsonl"
    assert aside == {beside: 2}
    assert {r.spec.seed: r.test for r in read_ledger(path).values()} == {0: 0.2, 2: None}
    assert {r.spec.seed: r.test for r in read_ledger(beside).values()} == {0: 0.1, 1: None}
    write_ledger(path, [old(SPECS[2])])
    write_current(path, [])
    assert len(read_ledger(beside)) == 3


def test_results_of_two_revisions_are_refused_in_one_sentence():
    both = [RunRecord(spec=SPECS[0]), old(SPECS[1]), old(SPECS[2])]
    check_one_revision(both[1:], "never")
    with pytest.raises(InputError) as error:
        check_one_revision(both, "run it again")
    assert str(error.value) == (
        "records of different numerics cannot be compared, and here are "
        f"2 of revision {NUMERICS - 1} and 1 of revision {NUMERICS}; run it again"
    )


@pytest.mark.parametrize("choices", [{"operator": "found"}, {"operator": "auto", "candidates": 2}])
def test_a_run_that_asks_the_ladder_knows_its_revision(choices):
    spec = SPECS[0].but(**choices)
    assert RunRecord(spec=spec, ladder=LADDER).is_current
    assert not RunRecord(spec=spec, ladder=LADDER - 1).is_current
    assert not RunRecord(spec=spec).is_current  # written before ladders had revisions
    assert RunRecord(spec=spec.but(operator="pgso")).is_current
