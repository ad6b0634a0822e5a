"""``pgso run`` and ``pgso report``: a study at toy size, resumed, and its page."""


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
