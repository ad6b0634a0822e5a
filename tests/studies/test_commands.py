"""``pgso run`` and ``pgso report``: a study at toy size, resumed, and its page."""

import json

from pgso.records import NUMERICS, Store
from pgso_studies.ledger import read_ledger, write_ledger
from pgso_studies.study import EXPERIMENTS


def test_a_study_fills_its_ledger_once_and_its_page_is_drawn_from_it(pgso, tmp_path):
    toy = ("run", "convergence", "--quick", "--workers", 1, "--results", "results")
    first = pgso(*toy)
    assert first.exit_code == 0, first.output
    ledger = tmp_path / "results" / "convergence" / "records.jsonl"
    assert len(ledger.read_text().splitlines()) == 4

    kept = ledger.read_text()
    again = pgso(*toy, "--out", "elsewhere")  # nothing is left to run
    assert "4 of 4 runs" in again.stdout
    assert not (tmp_path / "elsewhere").exists()
    assert ledger.read_text() == kept

    drawn = pgso("report", "convergence")
    assert drawn.exit_code == 0, drawn.output
    page = (ledger.parent / "page.md").read_text()
    assert page.startswith("# Convergence")
    assert (ledger.parent / "figures" / "convergence_karate.png").is_file()


def test_a_study_of_older_numerics_still_has_its_page_and_is_run_again(pgso, tmp_path):
    toy = ("run", "convergence", "--quick", "--workers", 1, "--results", "results")
    assert pgso(*toy).exit_code == 0
    ledger = tmp_path / "results" / "convergence" / "records.jsonl"
    now = read_ledger(ledger)
    first, *others = (r.model_copy(update={"numerics": NUMERICS - 1}) for r in now.values())

    curves = EXPERIMENTS["convergence"].curves
    write_ledger(ledger, [first, *others], curves)
    assert pgso("report", "convergence").exit_code == 0  # old ones alone

    write_ledger(ledger, [first, *list(now.values())[1:]], curves)
    refused = pgso("report", "convergence")
    assert refused.exit_code == 2
    assert "pgso run convergence runs the older ones again" in refused.output

    again = pgso(*toy, "--out", "elsewhere")
    assert again.exit_code == 0, again.output
    assert len(list((tmp_path / "elsewhere" / "records").iterdir())) == 1
    assert all(record.is_current for record in read_ledger(ledger).values())
    assert list(read_ledger(ledger.with_name(f"records.{NUMERICS - 1}.jsonl"))) == [first.spec.key]
    assert pgso("report", "convergence").exit_code == 0


def test_claims_are_of_one_revision_and_name_the_studies_that_are_left_out(pgso, tmp_path):
    for name in ("convergence", "spectral_support"):
        toy = ("run", name, "--quick", "--workers", 1, "--results", "results")
        assert pgso(*toy).exit_code == 0
    ledger = tmp_path / "results" / "convergence" / "records.jsonl"
    records = read_ledger(ledger).values()
    write_ledger(ledger, [r.model_copy(update={"numerics": 1}) for r in records])
    drawn = pgso("report", "spectral_support")
    assert drawn.exit_code == 0, drawn.output
    page = (tmp_path / "results" / "CLAIMS.md").read_text()
    assert f"Revision {NUMERICS} of the numerics." in page
    assert f"left out: convergence ({len(records)})." in page


def test_toy_runs_stay_apart_from_results(pgso, tmp_path):
    assert pgso("run", "spectral_support", "--quick", "--workers", 1).exit_code == 0
    assert not (tmp_path / "results").exists()
    assert (tmp_path / "runs" / "quick" / "spectral_support" / "records.jsonl").is_file()


def test_a_toy_study_is_reported_as_the_run_says_in_html_too(pgso, tmp_path):
    ran = pgso("run", "operators", "--quick", "--out", "toys")
    assert ran.exit_code == 0, ran.output
    assert "next: pgso report operators --results toys/quick" in ran.stdout
    assert pgso("report", "operators", "--out", "toys").exit_code == 0
    page = (tmp_path / "toys" / "quick" / "operators" / "page.html").read_text()
    assert "<table>" in page
    assert "http" not in page
    everything = pgso("report", "--out", "toys")  # a study without runs is a page too
    assert everything.exit_code == 0, everything.output
    assert "operators: toys/quick/operators/page.md" in everything.stdout


def test_a_plan_says_how_much_there_is_to_do_and_does_nothing(pgso, tmp_path):
    shown = pgso("run", "all", "--quick", "--plan", "--results", "results")
    assert shown.exit_code == 0, shown.output
    assert "convergence: 0 of 4 runs" in shown.stdout
    assert "to do: karate (4); of unknown length" in shown.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_budget_that_is_spent_leaves_the_old_ledger_and_says_what_was_left_out(pgso, tmp_path):
    toy = ("run", "convergence", "--quick", "--workers", 1, "--results", "results")
    assert pgso(*toy).exit_code == 0
    ledger = tmp_path / "results" / "convergence" / "records.jsonl"
    old = [r.model_copy(update={"numerics": 1}) for r in read_ledger(ledger).values()]
    write_ledger(ledger, old)
    kept = ledger.read_text()
    left = pgso(*toy, "--budget", 0, "--out", "elsewhere")
    assert left.exit_code == 0, left.output
    assert "left out: karate (4); about 0.0 hours of one core" in left.stdout
    assert ledger.read_text() == kept
    assert pgso(*toy, "--budget", 5, "--out", "elsewhere").exit_code == 0
    assert all(record.is_current for record in read_ledger(ledger).values())


def test_a_spec_of_two_studies_is_run_once_and_has_one_result(pgso, tmp_path):
    def toy(name):
        return pgso("run", name, "--quick", "--workers", 1, "--results", "results")

    assert toy("structure").exit_code == 0
    first = tmp_path / "results" / "structure" / "records.jsonl"
    shared, *others = read_ledger(first).values()
    write_ledger(tmp_path / "results" / "other" / "records.jsonl", [shared])
    write_ledger(first, others)
    before = set((tmp_path / "runs" / "records").iterdir())
    for file in before:
        file.unlink()
    assert toy("structure").exit_code == 0
    assert read_ledger(first)[shared.spec.key] == shared
    assert list((tmp_path / "runs" / "records").iterdir()) == []


def test_a_record_without_the_curves_of_the_page_is_run_again(pgso, tmp_path):
    toy = ("run", "convergence", "--quick", "--workers", 1, "--results", "results")
    assert pgso(*toy).exit_code == 0
    ledger = tmp_path / "results" / "convergence" / "records.jsonl"
    whole = ledger.read_text()
    write_ledger(ledger, read_ledger(ledger).values())  # the ends of the curves only
    assert ledger.read_text() != whole
    assert pgso(*toy).exit_code == 0  # --out has them
    assert [len(r.curves["val"]) for r in read_ledger(ledger).values()] == [8] * 4


def test_a_folder_of_runs_gets_its_pages_again_and_no_study(pgso, tmp_path):
    assert pgso("find", "karate").exit_code == 0
    (tmp_path / "results").mkdir()  # of the user's own
    for arguments in ((), ("--out", "runs")):
        shown = pgso("report", *arguments)
        assert shown.exit_code == 0, shown.output
        assert shown.stdout == "report: runs/find-karate/report.html\n"
    assert not list((tmp_path / "results").iterdir())
    assert not (tmp_path / "runs" / "operators").exists()


def test_runs_that_another_process_has_ended_in_the_meantime_are_taken(pgso, tmp_path, monkeypatch):
    toy = ("run", "convergence", "--quick", "--workers", 1, "--results")
    assert pgso(*toy, "results").exit_code == 0
    # This command looked into the folder before the other one wrote its records.
    monkeypatch.setattr(Store, "__iter__", lambda self: iter(()))
    second = pgso(*toy, "others")
    assert "4 of 4 runs" in second.stdout
    ledgers = [tmp_path / name / "convergence" / "records.jsonl" for name in ("results", "others")]
    assert ledgers[0].read_text() == ledgers[1].read_text()


def test_a_dataset_that_a_study_does_not_have_is_refused(pgso):
    result = pgso("run", "pooled", "--only", "Nowhere", "--plan")
    assert result.exit_code == 2
    assert "no dataset of pooled is called 'Nowhere'" in " ".join(result.output.split())
    assert pgso("run", "pooled", "--only", "karate", "--plan").exit_code == 0


def test_without_the_package_a_sentence_says_where_the_studies_are(pgso, monkeypatch):
    monkeypatch.setattr("pgso.cli.run.entry_points", lambda group, name: ())
    for words in (("run", "convergence"), ("report", "convergence"), ("list", "experiments")):
        refused = pgso(*words)
        assert refused.exit_code == 2
        assert "pgso-studies, which is not installed" in " ".join(refused.output.split())
    shown = pgso("list", "--json")
    assert shown.exit_code == 0, shown.output
    assert "experiments" not in json.loads(shown.stdout)


def test_without_the_package_a_folder_of_runs_still_gets_its_pages(pgso, monkeypatch):
    monkeypatch.setattr("pgso.cli.run.entry_points", lambda group, name: ())
    assert "there are no runs" in pgso("report").output
    assert pgso("find", "karate").exit_code == 0
    assert "report: runs" in pgso("report").stdout
