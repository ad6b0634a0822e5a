"""The page of one run: beside its record, with what it must beat."""

import re

import pytest

from pgso.records import Store
from pgso.report.page import run_page, write_run
from tests.report.data import make_data
from tests.report.records import make_record


def test_it_lies_beside_the_record_and_leads_to_it(tmp_path):
    store, record = Store(tmp_path), make_record("pgso", 0, 0.9, epoch=2)
    store.put(record)
    path = write_run(record, store, [make_data()], "pgso train toy")
    assert path == store.path(record.spec).with_suffix(".html")
    page = path.read_text()
    links = re.findall(r'<a href="([^"#]+)"', page)
    assert links
    assert {(path.parent / link).resolve() for link in links} == {store.path(record.spec).resolve()}
    assert "Baselines" in page
    assert "logistic regression, no graph" in page
    assert "the class &#39;leaves&#39; has 8 training examples" in page


@pytest.mark.parametrize(
    ("fields", "text", "reason", "tone"),
    [
        ({"test": 0.95, "epoch": 1}, "test accuracy 95.0",
         "epoch 2 of 4 was chosen, with 95.0 on validation; the best baseline has 80.0 "
         "(neighbours' labels, no features)", "good"),
        ({"test": 0.5, "epoch": 1}, "test accuracy 50.0", "epoch 2 of 4", "open"),
        ({"test": None, "val": 0.7, "epoch": 1}, "validation accuracy 70.0", "epoch 2", "good"),
        ({"test": None, "curves": {}, "epoch": None, "status": "failed", "error": "no luck"},
         "failed", "no luck", "bad"),
    ],
)  # fmt: skip
def test_the_verdict_of_a_run_is_its_score_beside_its_rivals(fields, text, reason, tone):
    record = make_record("pgso", 0, **fields)
    data = [make_data(classes=())]
    said = run_page(record, data).verdict
    assert said.text == text
    assert said.reason.startswith(reason)
    assert said.tone == tone
