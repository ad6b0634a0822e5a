"""The record of a finding is JSON, whole, and read back as it was."""

import pytest

from pgso import find
from pgso.errors import InputError
from pgso.records.finding import read_finding


@pytest.fixture(scope="module")
def record():
    return find("karate").record


def test_it_survives_a_file(record, tmp_path):
    record.write(tmp_path / "a" / "finding.json")
    assert read_finding(tmp_path / "a" / "finding.json") == record


def test_a_rung_is_found_by_name(record):
    assert record.rung(record.best).name == record.best
    assert record.rung(record.reference).terms == ("gcn",)


def test_what_is_no_record_is_refused(tmp_path):
    with pytest.raises(InputError, match="there is no finding at"):
        read_finding(tmp_path / "none.json")
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(InputError, match="is not the record of a finding"):
        read_finding(tmp_path / "bad.json")
