"""The record of a finding is JSON, whole, and read back as it was."""

import pytest

from pgso import NUMERICS, find
from pgso.errors import InputError
from pgso.records.finding import read_finding


@pytest.fixture(scope="module")
def record():
    return find("karate").record


def test_it_survives_a_file(record, tmp_path):
    record.write(tmp_path / "a" / "finding.json")
    assert read_finding(tmp_path / "a" / "finding.json") == record


def test_it_knows_its_numerics_and_an_older_file_is_of_revision_1(record, tmp_path):
    path = tmp_path / "finding.json"
    record.write(path)
    assert read_finding(path).numerics == NUMERICS
    path.write_text(path.read_text().replace(f'"numerics": {NUMERICS},', ""))
    assert read_finding(path).numerics == 1


def test_a_rung_is_found_by_name(record):
    assert record.rung(record.best).name == record.best
    assert record.rung(record.reference).terms == ("gcn",)


def test_what_is_no_record_is_refused(tmp_path):
    with pytest.raises(InputError, match="there is no finding at"):
        read_finding(tmp_path / "none.json")
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(InputError, match="is not the record of a finding"):
        read_finding(tmp_path / "bad.json")
