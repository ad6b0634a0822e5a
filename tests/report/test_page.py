import base64
import html
import json
import re
from collections import Counter
from html.parser import HTMLParser

import pytest

from pgso.records import Store
from pgso.report.comparison import compare
from pgso.report.page import comparison_page, comparison_record, write_report
from pgso.report.sections import as_html
from tests.report.data import make_data
from tests.report.records import THREE, make_record, make_runs
from tests.report.test_evaluation import make_evaluation

HOSTILE = "<script>alert(1)</script>"


class Tags(HTMLParser):
    """The tags of a page and every address in it."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.addresses = [], []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.addresses += [value for name, value in attributes if name in ("href", "src")]


def page_of(runs, data=(), command=None):
    comparison = compare(runs)
    summary = comparison_record(comparison, data, command)
    return as_html(comparison_page(comparison, summary, data))


def test_a_report_is_a_page_a_text_and_figures(tmp_path):
    path = write_report(
        make_runs(THREE)[:1], tmp_path / "new" / "folder", command="pgso compare", figures=True
    )
    assert path == tmp_path / "new" / "folder" / "report.html"
    text = (path.parent / "report.md").read_text()
    assert text.startswith("# toy, gcn\n")
    for name in re.findall(r"\(figures/(.*?)\)", text):
        assert (path.parent / "figures" / name).is_file()
    assert "    pgso compare" in text


def test_the_verdict_stands_on_the_page_and_in_its_title():
    page = page_of(make_runs(THREE))
    assert "<title>toy, gcn: learn the operator</title>" in page
    assert "mPGSO +16.0 points (95 % interval 14.3 to 17.7, 4 seeds)" in page


def test_the_page_asks_for_nothing_from_anywhere():
    actual = Tags(page_of(make_runs(THREE)))
    assert {a for a in actual.addresses if not a.startswith("data:")} == {"#main", "#reading"}
    assert not {"img", "iframe", "object", "embed", "base"} & set(actual.tags)
    assert actual.tags.count("script") == 2
    assert "default-src 'none'" in page_of(make_runs(THREE))


@pytest.mark.parametrize("where", ["dataset", "option", "error", "command"])
def test_strings_of_the_users_own_stay_strings(where, tmp_path):
    choices = {"dataset": {"dataset": HOSTILE}, "option": {"data_options": {HOSTILE: HOSTILE}}}
    failure = {"status": "diverged", "error": HOSTILE} if where == "error" else {}
    runs = [
        make_record(operator, 0, 0.5, choices=choices.get(where, {}), **failure)
        for operator in ("fixed", "pgso")
    ]
    page = page_of(runs, command=HOSTILE if where == "command" else None)
    assert HOSTILE not in page
    assert "&lt;script&gt;alert(1)" in page
    assert Tags(page).tags.count("script") == 2


def test_the_text_of_a_hostile_name_has_no_tag(tmp_path):
    path = write_report([make_record("pgso", 0, 0.5, choices={"dataset": HOSTILE})], tmp_path)
    prose = [
        line for line in path.with_suffix(".md").read_text().splitlines() if line[:4] != " " * 4
    ]
    assert "<script>" not in "\n".join(prose)


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        (make_runs({"fixed": [0.5], "pgso": [0.6]}), "one seed gives no interval"),
        (make_runs({"pgso": [0.5, 0.6]}), "no scored run of the fixed operator"),
        (make_runs({"fixed": [0.5, 0.6]}), "no scored run of a learned operator"),
        (make_runs({"fixed": [0.5, 0.6], "pgso": [0.6, 0.8]}, directed=True), "undirected graph"),
        (make_runs({"fixed": [0.5], "auto": [0.6]}), "auto"),
        (make_runs({"pgso": [0.5]}, metric="roc_auc"), "ROC-AUC, %"),
        ([make_record("pgso", 0, None, curves={}, epoch=None, status="failed")], "failed"),
        ([make_record("pgso", 0, 0.4, status="diverged", error="nan in 3")], "nan in 3"),
    ],
    ids=["one seed", "learned", "fixed", "directed", "auto", "auc", "failed", "diverged"],
)
def test_a_page_is_made_of_whatever_there_is(runs, said):
    assert said in page_of(runs)


def test_the_same_records_give_the_same_page():
    runs = make_runs(THREE)
    assert page_of(runs) == page_of(runs)


def test_the_verdict_comes_first_then_the_next_command_then_the_scores():
    data = [make_data(seed) for seed in range(4)]
    page = page_of(make_runs(THREE), data=data)
    places = [page.index(text) for text in ('id="verdict"', "mPGSO +16.0", "pgso train toy",
              "Scores by seed", "The graph", "2 classes", "Baselines", "What was run")]  # fmt: skip
    assert places == sorted(places)
    assert "the class &#39;leaves&#39; has 8 training examples" in page
    assert "neighbours&#39; labels, no features" in page


def test_numbers_can_be_saved_from_the_page(tmp_path):
    runs = [run.model_copy(update={"evaluation": make_evaluation(7)}) for run in make_runs(THREE)]
    beside = make_runs({"fixed": [0.6] * 4}, choices={"num_layers": 6})
    write_report(runs, tmp_path, [make_data()], reference=beside)
    page = (tmp_path / "report.html").read_text()
    links = re.findall(r'download="([^"]+)" href="data:([^;]+);charset=utf-8;base64,([^"]+)"', page)
    names = [name for name, _, _ in links]
    assert {"test-accuracy.csv", "the-graph.csv", "calibration-error.csv", "numbers.json"} <= {
        *names
    }
    saved = {name: base64.b64decode(text).decode() for name, _, text in links}
    assert saved["test-accuracy.csv"].splitlines()[1].startswith("fixed,4,70.5 ± 1.3")
    numbers = json.loads(saved["numbers.json"])
    assert numbers["baselines"][0]["name"] == "guess"
    assert len(numbers["runs"]) == 12
    assert len(numbers["reference"]) == 4
    assert numbers == json.loads((tmp_path / "comparison.json").read_text())


def test_keys_lead_to_records_and_the_comparison_is_saved_beside_the_page(tmp_path):
    store, runs = Store(tmp_path / "runs"), make_runs(THREE)
    for run in runs:
        store.put(run)
    path = write_report(runs, tmp_path / "runs" / "toy", store=store)
    links = [link for link in Tags(path.read_text()).addresses if link.endswith(".json")]
    assert len(links) == 13
    assert all((path.parent / link).is_file() for link in links)


def test_the_chosen_epochs_are_said():
    runs = make_runs(THREE, epochs=9, epoch=3)
    page = page_of(runs)
    assert '<th scope="row">PGSO</th><td>0</td><td>done</td><td>4</td>' in page


def test_nothing_is_computed_twice(tmp_path, monkeypatch):
    from pgso.report import about, page, tables

    calls = Counter()
    counted_names = ((page, "compare"), (page, "doubts"), (tables, "scores_grid"),
                     (about, "runs_section"), (page, "evaluation_section"))  # fmt: skip
    for module, name in counted_names:
        real = getattr(module, name)

        def counted(*given, name=name, real=real, **more):
            calls[name] += 1
            return real(*given, **more)

        monkeypatch.setattr(module, name, counted)
    write_report(make_runs(THREE), tmp_path, [make_data()])
    assert calls == {"compare": 1, "doubts": 1, "scores_grid": 2, "evaluation_section": 1,
                     "runs_section": 1}  # fmt: skip


def test_the_text_has_the_same_tables_as_the_page(tmp_path):
    path = write_report(make_runs(THREE), tmp_path, [make_data()])
    text, page = path.with_suffix(".md").read_text(), path.read_text()
    assert "| mPGSO | 4 | 86.5 ± 1.3 |" in text
    for title in re.findall(r"(?m)^### (.*)$", text):
        assert html.unescape(page).count(title.replace("\\", "")), title
    assert text.count("\n| --- |") >= 9
