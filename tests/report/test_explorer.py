import json
import re

from hypothesis import given
from hypothesis import strategies as st

from pgso.report.comparison import compare
from pgso.report.page import comparison_page, comparison_record
from pgso.report.sections import as_html, embedded
from pgso.report.tables import MOST_EPOCHS
from tests.report.records import GCN, MOVED, make_record, make_runs


def data_of(runs):
    comparison = compare(runs)
    page = comparison_page(comparison, comparison_record(comparison))
    return json.loads(re.search(r'id="data">(.*?)</script>', as_html(page))[1])


@given(st.recursive(st.text() | st.integers(), lambda inner: st.lists(inner, max_size=3)))
def test_embedded_json_says_the_same_and_cannot_end_a_script(value):
    text = embedded(value)
    assert json.loads(text) == value
    assert not set("<>&") & set(text)


def test_what_is_not_a_number_becomes_null():
    assert embedded([float("nan"), float("inf"), 0.123456789]) == "[null,null,0.12346]"


def test_the_slider_begins_at_the_start_and_ends_at_what_was_learned():
    (run,) = data_of([make_record("pgso", 0, 0.5)])["runs"]
    assert run["epochs"] == [0, 1, 2, 3, 4]
    assert run["parameters"][0] == [list(GCN)]
    assert run["parameters"][-1] == [list(MOVED)]
    assert run["chosen"] == 4
    assert run["intervals"][0] == [[-1, 1]]
    assert run["intervals"][-1] == [[-2, 2]]


def test_a_directed_graph_has_no_intervals():
    (run,) = data_of([make_record("pgso", 0, 0.5, directed=True)])["runs"]
    assert run["intervals"] is None


def test_a_long_run_is_thinned_but_keeps_the_chosen_epoch():
    (run,) = data_of([make_record("pgso", 0, 0.5, epochs=3000, epoch=1234)])["runs"]
    assert len(run["epochs"]) <= MOST_EPOCHS + 2
    assert {0, 1, 1235, 3000} <= set(run["epochs"])


def test_a_thinned_record_still_has_its_chosen_epoch():
    run = make_record("pgso", 0, 0.5, epochs=9, epoch=5)
    curves = {"epoch": [0, 8], "parameters": [[GCN], [GCN]], "interval": [[(-1, 1)]] * 2}
    (shown,) = data_of([run.model_copy(update={"curves": curves})])["runs"]
    assert shown["epochs"] == [0, 1, 6, 9]
    assert shown["parameters"][2] == [list(MOVED)]
    assert shown["intervals"][2] is None


def test_spectra_come_from_the_record():
    one, other = make_runs({"pgso": [0.5, 0.6]})
    density = {"grid": [0.0], "density": [1.0]}
    other = other.model_copy(update={"spectra": {"start": [density]}})
    first, second = data_of([one, other])["runs"]
    assert first["start"] == []
    assert second["start"] == [density]
