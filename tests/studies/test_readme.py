"""The tables of README and docs: what the records say, and nothing else."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pgso.errors import InputError
from pgso.records import NUMERICS, RunRecord, RunSpec
from pgso_studies import found
from pgso_studies.ledger import write_ledger
from pgso_studies.readme import PAGES, filled, results_table, speed_table, starts_table

ROOT = Path(__file__).parents[2]


def record(test, **choices):
    return RunRecord(spec=RunSpec(dataset="Cora", **choices), val=0.9, test=test)


def study(folder, records, name="recipes"):
    write_ledger(folder / name / "records.jsonl", records)
    return folder


def benchmark(folder, name, rows):
    path = folder / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"machine": {"threads": 2, "torch": "2.13"}, "rows": rows}))


@pytest.mark.parametrize("page", PAGES)
def test_pages_are_what_the_records_say(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    tables = {name: make(ROOT / "results") for name, make in PAGES[page].items()}
    assert text == filled(text, tables), "run: make readme"


def test_the_readme_is_short():
    text = (ROOT / "README.md").read_text()
    written = re.sub(r"<!-- (\w+):start -->.*?<!-- \1:end -->", "", text, flags=re.DOTALL)
    assert len(written.splitlines()) < 120  # without the tables that records fill


def test_differences_are_paired_and_fixed_scores_are_those_of_the_pairs(tmp_path):
    runs = [record(0.5 + 0.1 * seed, operator="fixed", seed=seed) for seed in range(4)]
    runs += [record(0.53 + 0.1 * seed, operator="pgso", seed=seed) for seed in range(2)]
    runs += [record(0.71, operator="pgso", seed=2)]
    # The three differences are 3, 3 and 1: mean 7/3, and t_{2, .975} = 4.303 times 1.155 / sqrt 3.
    row = "| Cora, GCN | 60.0 ± 10.0 (3) | +2.3 [-0.5, 5.2] | – | – | – | – |"
    page = results_table(study(tmp_path, runs))
    assert row in page
    assert f"revision {NUMERICS} of the numerics" in page


def test_what_certainly_differs_is_bold(tmp_path):
    runs = [record(0.5, operator="fixed", seed=seed) for seed in range(3)]
    runs += [record(0.6 + 0.001 * seed, operator="pgso", seed=seed) for seed in range(3)]
    assert "| **+10.1 [9.9, 10.3]** |" in results_table(study(tmp_path, runs))


def test_other_recipes_starts_and_networks_have_no_place_in_it(tmp_path):
    runs = [record(0.5, operator="fixed"), record(0.6), record(0.7, recipe="robust")]
    runs += [record(0.9, s_delay=7), record(0.1, residual=True), record(0.2, preset="mean")]
    runs += [record(0.9, operator="fixed", preset="mean")]
    assert "| Cora, GCN | 50.0 (1) | +10.0 | – | – | – | – |" in results_table(
        study(tmp_path, runs)
    )


def test_what_find_kept_stands_beside_it(tmp_path):
    kept = (("gcn", 0.8), ("gcn", 0.6), ("x", 0.7))
    runs = [{"kept": name, "rung": test - 0.1, "test": test} for name, test in kept]
    benchmark(tmp_path, "find/scores", [{"dataset": "cora", "runs": runs}])
    page = results_table(study(tmp_path, [record(0.5, operator="fixed"), record(0.6)]))
    assert "| 60.0 ± 10.0 (3) | 70.0 ± 10.0 (3) | gcn (2 of 3) | – |" in page


def test_the_best_rival_of_the_race_is_one_with_all_splits(tmp_path):
    def cells(rival, *tests):
        return [
            json.dumps({"dataset": "Cora", "rival": rival, "split": k, "test": test})
            for k, test in enumerate(tests)
        ]

    lines = cells("gcn", 0.8, 0.9) + cells("lightgbm", 0.99) + cells("find", 1.0, 1.0)
    (tmp_path / "rivals").mkdir()
    (tmp_path / "rivals" / "cells.jsonl").write_text("\n".join(lines))
    page = results_table(study(tmp_path, [record(0.5, operator="fixed"), record(0.6)]))
    assert "| gcn 85.0 ± 7.1 (2), best of 1 |" in page


def test_starts_are_ordered_by_their_score(tmp_path):
    runs = [
        record(0.3, preset="zeros"),
        record(0.8, preset="gcn"),
        record(0.9, preset="gcn", seed=1),
    ]
    page = starts_table(study(tmp_path, runs, "initialisations"))
    assert page.endswith("| `gcn` | 85.0 ± 7.1 (2) |\n| `zeros` | 30.0 (1) |")


def test_records_of_different_numerics_are_refused(tmp_path):
    runs = [record(0.5, operator="fixed"), record(0.6).model_copy(update={"numerics": 1})]
    with pytest.raises(InputError, match=r"1 of revision 1 and 1 of revision .*pgso run recipes"):
        results_table(study(tmp_path, runs))


def test_where_nothing_was_run_the_page_says_so(tmp_path):
    assert results_table(tmp_path).startswith("No study has been run yet")
    assert starts_table(tmp_path).startswith("Not run yet")
    assert speed_table(tmp_path).startswith("Nothing has been measured yet")


def test_tables_replace_what_is_between_their_marks():
    page = "before\n<!-- speed:start -->\nold\n<!-- speed:end -->\nafter\n"
    new = filled(page, {"speed": "new"})
    assert new == "before\n<!-- speed:start -->\nnew\n<!-- speed:end -->\nafter\n"
    assert filled(new, {"speed": "new"}) == new


def test_a_page_without_the_marks_is_refused():
    with pytest.raises(InputError, match="needs one <!-- results:start -->"):
        filled("nothing", {"results": "table"})


def test_every_ratio_of_the_benchmarks_is_shown(tmp_path):
    row = {"name": "step", "ours_ms": 1.0, "theirs_ms": 2.5, "ratio": 2.5, "target": ">= 2"}
    cost = {**row, "name": "cost", "target": "<= 4"}
    benchmark(tmp_path, "benchmarks/layers", [{**row, "at_best": 3.0}, cost])
    assert "| step | 2.50 |  | 3.00 |\n| cost | 2.50 | ≤ 4 |  |" in speed_table(tmp_path)
    assert "2 threads, torch 2.13" in speed_table(tmp_path)


def test_it_runs_without_torch(tmp_path):
    for page, tables in (*PAGES.items(), *found.PAGES.items()):
        marks = (f"<!-- {name}:start -->\n<!-- {name}:end -->\n" for name in tables)
        (tmp_path / page).parent.mkdir(parents=True, exist_ok=True)
        with (tmp_path / page).open("a") as file:  # a page may have tables of both
            file.writelines(marks)
    program = (
        "import runpy, sys; runpy.run_module('pgso_studies', run_name='__main__'); "
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)
    assert "No study" in (tmp_path / "README.md").read_text()
