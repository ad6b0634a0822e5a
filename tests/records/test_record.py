import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgso.errors import InputError
from pgso.records import RunRecord, RunSpec, Store
from pgso.records.record import ComparisonRecord, read_comparison
from pgso.records.store import read_record
from pgso_studies.ledger import read_ledger

NUMBERS = st.floats(allow_nan=False)
SEVEN = st.tuples(*[st.floats(allow_nan=False, allow_infinity=False)] * 7)


@st.composite
def records(draw) -> RunRecord:
    spec = RunSpec(dataset="karate", seed=draw(st.integers(0, 9)), preset=draw(st.none() | SEVEN))
    score = st.none() | st.floats(0, 1)
    return RunRecord(
        spec=spec,
        status=draw(st.sampled_from(["done", "diverged", "failed"])),
        error=draw(st.none() | st.text()),
        val=draw(score),
        test=draw(score),
        parameters=draw(st.lists(SEVEN, max_size=2)),
        nearest=draw(st.lists(st.tuples(st.just("gcn"), NUMBERS), max_size=2)),
        curves={"loss": draw(st.lists(NUMBERS)), "train": draw(st.lists(score))},
        timing={"seconds": draw(st.floats(0, 10))},
    )


@given(records())
def test_a_record_survives_being_written_and_read(record):
    assert RunRecord.model_validate_json(record.model_dump_json()) == record


@given(record=records())
def test_a_record_survives_the_store_to_the_last_digit(tmp_path_factory, record):
    store = Store(tmp_path_factory.mktemp("runs"))
    store.put(record)
    assert store.get(record.spec) == record


def test_curves_with_infinities_are_kept(tmp_path):
    record = RunRecord(
        spec=RunSpec(dataset="karate"), curves={"interval": [[(-math.inf, math.inf)]]}
    )
    Store(tmp_path).put(record)
    assert Store(tmp_path).get(record.spec).curves == {"interval": [[[-math.inf, math.inf]]]}


def test_times_are_all_that_may_differ():
    spec = RunSpec(dataset="karate")
    one, other = (RunRecord(spec=spec, val=0.5, timing={"seconds": s}) for s in (1.0, 2.0))
    assert one != other
    assert one.without_times() == other.without_times()
    assert "timing" not in one.without_times()


def test_a_record_cannot_be_changed():
    with pytest.raises(ValueError, match="frozen"):
        RunRecord(spec=RunSpec(dataset="karate")).val = 1.0


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("test", "NaN", "test: Value error, NaN is no score"),
        ("start", "[[NaN,1,0,0,0,0,0]]", r"start\.0\.0: Input should be a finite number"),
    ],
)
def test_nan_in_a_file_is_damage_and_said_in_words(tmp_path, field, value, problem):
    path = tmp_path / "records.jsonl"
    path.write_text(f'{{"spec":{{"dataset":"karate"}},"{field}":{value}}}')
    with pytest.raises(InputError, match=problem):
        read_record(path)
    with pytest.raises(InputError, match=f"line 1 is not a record: {problem}"):
        read_ledger(path)


def test_an_infinite_error_is_a_result():
    record = RunRecord(spec=RunSpec(dataset="karate"), metric="rmse", test=math.inf)
    again = RunRecord.model_validate_json(record.model_dump_json())
    assert again.objective.written(again.test) == "inf"


def test_a_comparison_keeps_an_infinite_mean(tmp_path):
    scores = {"test": {"summaries": [{"operator": "fixed", "mean": math.inf, "n": 1}]}}
    comparison = ComparisonRecord(
        dataset="d", conv="gcn", metric="rmse", runs=(), verdict="", scores=scores
    )
    comparison.write(tmp_path)
    assert read_comparison(tmp_path / "comparison.json").scores == scores
