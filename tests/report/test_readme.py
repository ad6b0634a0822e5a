"""The README's tables: what the records say, and nothing else."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pgso.errors import InputError
from pgso.records import RunRecord, RunSpec
from pgso.records.ledger import write_ledger
from pgso.report.readme import filled, results_tables, speed_table

ROOT = Path(__file__).parents[2]
PAGE = (
    "before\n<!-- results:start -->\nold\n<!-- results:end -->\nbetween\n"
    "<!-- speed:start --><!-- speed:end -->\nafter\n"
)


def record(test, **choices):
    return RunRecord(spec=RunSpec(dataset="Cora", **choices), val=0.9, test=test)


def study(folder, records, name="recipes"):
    write_ledger(folder / name / "records.jsonl", records)
    return results_tables(folder)


def test_the_readme_is_what_the_records_say():
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    assert page == filled(page, ROOT / "results"), "run: make readme"


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) < 200


def test_differences_are_paired_by_seed(tmp_path):
    runs = [record(0.5 + 0.1 * seed, operator="fixed", seed=seed) for seed in range(3)]
    runs += [record(0.53 + 0.1 * seed, operator="pgso", seed=seed) for seed in range(2)]
    runs += [record(0.71, operator="pgso", seed=2)]
    table = study(tmp_path, runs)
    # The three differences are 3, 3 and 1: mean 7/3, and t_{2, .975} = 4.303 times 1.155 / sqrt 3.
    assert "| Cora, gcn | 60.0 ± 10.0 (3) | +2.3 [-0.5, 5.2] |" in table
    assert "[recipes](" in table
    assert "(6 runs)" in table


def test_what_certainly_differs_is_bold(tmp_path):
    runs = [record(0.5, operator="fixed", seed=seed) for seed in range(3)]
    runs += [record(0.6 + 0.001 * seed, operator="mpgso", seed=seed) for seed in range(3)]
    assert "| **+10.1 [9.9, 10.3]** |" in study(tmp_path, runs)


def test_recipes_have_columns_of_their_own_and_other_variants_none(tmp_path):
    runs = [record(0.5, operator="fixed"), record(0.6), record(0.7, recipe="robust")]
    runs += [record(0.9, s_delay=7), record(0.1, residual=True)]
    table = study(tmp_path, runs)
    assert "| PGSO, paper | PGSO, robust |" in table
    assert "| +10.0 | +20.0 |" in table


def test_options_of_the_data_are_named_where_rows_would_look_alike(tmp_path):
    both = [{"data_options": {"protocol": "gin"}}, {}]
    runs = [record(0.5, operator=name, **options) for options in both for name in ("fixed", "pgso")]
    assert "| Cora, gcn | " in study(tmp_path, runs[:2])
    table = study(tmp_path, runs)
    assert "| Cora (protocol=gin), gcn | " in table
    assert "| Cora (as it is), gcn | " in table


def test_architectures_are_columns_where_a_dataset_has_several(tmp_path):
    runs = [
        record(test + 0.001 * seed * (operator == "pgso"), operator=operator, conv=conv, seed=seed)
        for seed in range(3)
        for operator, conv, test in [
            ("fixed", "gcn", 0.5),
            ("pgso", "gcn", 0.6),
            ("mpgso", "gcn", 0.5),
            ("fixed", "gat", 0.7),
            ("pgso", "gat", 0.699),
        ]
    ]
    table = study(tmp_path, runs)
    assert "| fixed: PGSO / mPGSO | gat | gcn |" in table
    assert "| Cora | 70.0: +0.0 / – | 50.0: **+10.1** / +0.0 |" in table


def test_runs_that_tuned_are_no_results(tmp_path):
    runs = [record(0.5, operator="fixed", seed=100), record(0.6, seed=100)]
    assert "|" not in study(tmp_path, runs)


def test_a_study_without_a_fixed_operator_is_listed_but_has_no_table(tmp_path):
    table = study(tmp_path, [record(0.6, preset="zeros")], "initialisations")
    assert "|" not in table
    assert "[initialisations](" in table


def test_where_nothing_was_run_the_page_says_so(tmp_path):
    page = filled(PAGE, tmp_path)
    assert page.startswith("before\n<!-- results:start -->\nNo study has been run yet")
    assert "old" not in page
    assert page.endswith("<!-- speed:end -->\nafter\n")
    assert filled(page, tmp_path) == page


def test_studies_of_different_numerics_are_refused(tmp_path):
    study(tmp_path, [record(0.5)])
    with pytest.raises(InputError, match="1 of revision 1 and 1 of revision"):
        study(tmp_path, [record(0.6).model_copy(update={"numerics": 1})], "extensions")


def test_every_ratio_of_the_benchmarks_is_shown(tmp_path):
    row = {"name": "step", "ours_ms": 1.0, "theirs_ms": 2.5, "ratio": 2.5, "target": ">= 2"}
    rows = [row, {**row, "name": "epoch", "at_best": 4}]
    path = tmp_path / "benchmarks" / "layers.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"machine": {"threads": 2, "torch": "2.13"}, "rows": rows}))
    assert "| step | 2.50 | >= 2 |  |\n| epoch | 2.50 | >= 2 | 4.00 |" in speed_table(tmp_path)
    assert "2 threads, torch 2.13" in speed_table(tmp_path)


def test_a_page_without_the_marks_is_refused(tmp_path):
    with pytest.raises(InputError, match="needs one <!-- results:start -->"):
        filled("nothing", tmp_path)


def test_it_runs_without_torch(tmp_path):
    (tmp_path / "README.md").write_text(PAGE)
    program = (
        "import runpy, sys; runpy.run_module('pgso.report.readme', run_name='__main__'); "
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)
    assert "No study" in (tmp_path / "README.md").read_text()
