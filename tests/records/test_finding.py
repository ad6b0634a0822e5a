"""The record of a finding is JSON, whole, and read back as it was."""

import pytest

from pgso import NUMERICS, find
from pgso.errors import InputError
from pgso.records import RunRecord, RunSpec
from pgso.records.finding import read_finding
from pgso.records.numerics import LADDER, check_one_revision
from pgso_studies.ledger import read_ledger, write_current, write_ledger


@pytest.fixture(scope="module")
def record():
    return find("karate").record


def test_it_survives_a_file(record, tmp_path):
    record.write(tmp_path / "a" / "finding.json")
    assert read_finding(tmp_path / "a" / "finding.json") == record
    record.write(str(tmp_path / "text.json"))
    assert read_finding(str(tmp_path / "text.json")) == record


def test_it_knows_its_numerics_and_an_older_file_is_of_revision_1(record, tmp_path):
    path = tmp_path / "finding.json"
    record.write(path)
    assert read_finding(path).numerics == NUMERICS
    path.write_text(path.read_text().replace(f'"numerics": {NUMERICS},', ""))
    assert read_finding(path).numerics == 1


def test_a_ledger_says_the_revision_of_a_finding_in_a_record(record, tmp_path):
    run = RunRecord(spec=RunSpec(dataset="karate"), finding=record)
    write_ledger(tmp_path / "records.jsonl", [run])
    (back,) = read_ledger(tmp_path / "records.jsonl").values()
    assert back.finding.numerics == NUMERICS
    assert back.finding.ladder == LADDER
    assert back.is_current


def test_findings_of_another_ladder_are_not_current_set_aside_and_never_mixed(record, tmp_path):
    older = record.model_copy(update={"ladder": LADDER - 1})
    runs = [
        RunRecord(spec=RunSpec(dataset="karate", seed=seed), finding=finding)
        for seed, finding in enumerate((record, older))
    ]
    path = tmp_path / "records.jsonl"
    write_ledger(path, runs)
    assert [run.is_current for run in read_ledger(path).values()].count(False) == 1
    check_one_revision([runs[0], RunRecord(spec=runs[1].spec)], "never")  # no ladder was climbed
    with pytest.raises(InputError, match="of different ladders of find cannot be compared"):
        check_one_revision(runs, "run it again")
    beside = tmp_path / f"records.{NUMERICS}.ladder-{LADDER - 1}.jsonl"
    assert write_current(path, []) == {beside: 1}
    older.write(tmp_path / "finding.json")
    text = (tmp_path / "finding.json").read_text()
    (tmp_path / "finding.json").write_text(text.replace(f'"ladder": {LADDER - 1},', ""))
    assert read_finding(tmp_path / "finding.json").ladder == 1


def test_a_rung_is_found_by_name(record):
    assert record.rung(record.best).name == record.best
    assert record.rung(record.reference).terms == ("gcn",)


def test_what_is_no_record_is_refused(tmp_path):
    with pytest.raises(InputError, match="there is no record of a finding at"):
        read_finding(tmp_path / "none.json")
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(InputError, match="is not a record of a finding"):
        read_finding(tmp_path / "bad.json")


def test_a_finding_whose_kept_rung_is_not_there_is_refused(tmp_path, record):
    path = tmp_path / "finding.json"
    record.model_copy(update={"best": "another"}).write(path)
    with pytest.raises(InputError, match="best and reference must be among the rungs"):
        read_finding(path)
