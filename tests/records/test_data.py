import pytest

from pgso.errors import InputError
from pgso.records import RunSpec, Store
from pgso.records.data import data_spec
from pgso.records.finding import read_finding
from pgso.records.record import read_comparison
from tests.report.data import make_data


def test_what_chooses_the_data_counts_and_nothing_else():
    spec = RunSpec(dataset="minesweeper", seed=2, data_options={"rows": 5})
    assert data_spec(spec.but(conv="gin", operator="fixed", epochs=3)) == data_spec(spec)
    for change in ({"seed": 1}, {"dataset": "karate"}, {"objective": "accuracy"}, {"task": "link"}):
        assert data_spec(spec.but(**change)) != data_spec(spec)


def test_it_is_read_as_it_was_written_unless_it_is_of_other_numerics(tmp_path):
    store, record = Store(tmp_path), make_data(seed=3)
    store.put_data(record)
    spec = RunSpec(dataset="toy", seed=3, conv="gat")
    assert store.data(spec) == record
    assert store.data(spec.but(seed=4)) is None
    store.put_data(record.model_copy(update={"numerics": 1}))
    assert store.data(spec) is None


@pytest.mark.parametrize("read", [read_finding, read_comparison])
@pytest.mark.parametrize("text", [None, "{", "[]", "\xff"])
def test_what_is_no_record_is_refused_in_a_sentence(read, text, tmp_path):
    path = tmp_path / "file.json"
    if text is not None:
        path.write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError, match=r"file\.json"):
        read(path)
