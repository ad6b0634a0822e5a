"""``pgso compare`` at toy size: what it prints, what it writes, and that it resumes."""

import json
import re
import subprocess
import sys

from pgso.evaluation import baselines
from pgso.report import page
from pgso.training import engines

TOY = ("karate", "--epochs", 5, "--seeds", 2, "--workers", 1)


def no_report(monkeypatch):
    """Drawing and baselines take longer than the toy runs themselves, and once is enough."""
    monkeypatch.setattr(baselines, "baselines", lambda task: ())
    monkeypatch.setattr(page, "write_comparison", lambda *given, **_: given[2] / "none")


def test_it_prints_the_comparison_and_the_verdict_and_writes_a_report(pgso, tmp_path, monkeypatch):
    shown = pgso("compare", *TOY)
    assert shown.exit_code == 0, shown.output
    for word in ("fixed", "PGSO", "mPGSO", "stronger", "95 % intervals", "m1", "report:"):
        assert word in shown.stdout
    text = (tmp_path / "runs" / "karate" / "report.html").read_text()
    assert '<pre tabindex="0">pgso compare karate --epochs 5 --seeds 2 --workers 1</pre>' in text
    assert len(list((tmp_path / "runs" / "records").glob("*.json"))) == 10
    assert "Stronger: a fixed residual gcn of 4 layers with batch norm" in text
    lines = shown.stdout.strip().splitlines()
    order = [
        k for k, line in enumerate(lines) if re.match("no |und|nothing|next: |Test |rep", line)
    ]
    assert [lines[k].split()[0] for k in order][1:] == ["next:", "Test", "report:"]

    no_report(monkeypatch)
    again = pgso("compare", *TOY, "--json")
    assert "10 of 10 runs are there already" in again.stderr
    output = json.loads(again.stdout)  # nothing but JSON
    names = [entry["operator"] for entry in output["test"]["summaries"]]
    assert names == ["fixed", "pgso", "mpgso", "found"]
    assert output["verdict"] in shown.stdout.replace("\n", " ")
    assert {f"{key}.json" for key in output["records"]} == {
        path.name for path in (tmp_path / "runs" / "records").iterdir()
    }


def test_a_stronger_fixed_network_is_trained_beside_unless_it_is_not_wanted(pgso, monkeypatch):
    no_report(monkeypatch)
    output = json.loads(pgso("compare", *TOY, "--json").stdout)
    assert output["reference"]["changes"] == {
        "operator": "fixed",
        "num_layers": 4,
        "norm": "batch",
        "residual": True,
    }
    assert output["reference"]["test"]["n"] == 2
    compared = {entry["operator"] for entry in output["reference"]["differences"]}
    assert compared == {"pgso", "mpgso", "found"}
    without = json.loads(pgso("compare", *TOY, "--json", "--no-reference").stdout)
    assert without["reference"] is None
    strong = pgso("compare", *TOY, "--json", "--recipe", "strong")
    assert json.loads(strong.stdout)["reference"] is None  # it is strong already


def test_the_robust_recipe_decides_once_for_all_seeds(pgso, monkeypatch):
    no_report(monkeypatch)
    size = ("--option", "rows=20", "--option", "cols=20", "--no-reference")
    toy = ("minesweeper", "--epochs", 3, "--seeds", 2, "--workers", 1, "--recipe", "robust")
    output = json.loads(pgso("compare", *toy, *size, "--json").stdout)
    decision = output["decision"]
    assert decision["kept"] in ("fixed", "pgso", "mpgso", "found")
    assert set(decision["confidence"]) == {"pgso", "mpgso", "found"}
    assert (decision["seeds"], decision["labels"]) == (2, 134)  # two thirds of twice 100
    assert any("all 2 seeds together" in note for note in output["notes"])


def test_links_are_compared_without_what_find_found(pgso, monkeypatch):
    no_report(monkeypatch)
    shown = pgso("compare", *TOY, "--task", "link", "--no-reference", "--json")
    names = [entry["operator"] for entry in json.loads(shown.stdout)["test"]["summaries"]]
    assert names == ["fixed", "pgso", "mpgso"]


def test_with_one_layer_mpgso_is_left_out_and_the_page_says_so(pgso, monkeypatch):
    no_report(monkeypatch)
    found = json.loads(pgso("compare", *TOY, "--layers", 1, "--no-reference", "--json").stdout)
    names = [entry["operator"] for entry in found["test"]["summaries"]]
    assert names == ["fixed", "pgso", "found"]
    assert any(note.startswith("mPGSO was not run: ") for note in found["notes"])


def test_a_bank_is_compared_term_by_term(pgso, monkeypatch):
    no_report(monkeypatch)
    shown = pgso("compare", *TOY, "--terms", "self,gcn,mean", "--no-reference")
    assert shown.exit_code == 0, shown.output
    for name in ("PGSO, mean", "mPGSO, layer 1, gcn", "mPGSO, layer 2, mean"):
        assert name in shown.stdout


def test_a_run_that_fails_is_left_out_and_the_exit_code_says_so(pgso, monkeypatch):
    real = engines.run_one

    def sometimes(spec, *given, **options):
        record = real(spec, *given, **options)
        if (spec.operator, spec.seed) == ("pgso", 1):
            return record.model_copy(update={"status": "failed", "error": "out of luck"})
        return record

    no_report(monkeypatch)
    monkeypatch.setattr(engines, "run_one", sometimes)
    shown = pgso("compare", "karate", "--epochs", 2, "--seeds", 2, "--workers", 1)
    assert "out of luck" in shown.stdout
    assert shown.exit_code == 1


def test_without_a_test_set_nothing_is_trained(pgso, tmp_path):
    folder = tmp_path / "friends"
    folder.mkdir()
    (folder / "edges.csv").write_text("a,b\nb,c\nc,d\n")
    (folder / "labels.csv").write_text("a,x\nb,y\nc,x\nd,y\n")
    (folder / "splits.csv").write_text("a,train\nb,train\nc,val\nd,val\n")
    shown = pgso("compare", folder, "--epochs", 1, "--seeds", 2)
    assert shown.exit_code == 2
    assert "has no test set to compare on" in shown.stderr
    assert not (tmp_path / "runs" / "records").exists()


def test_errors_are_compared_in_their_unit_and_smaller_is_better(pgso, monkeypatch):
    no_report(monkeypatch)
    options = ("--epochs", 4, "--seeds", 2, "--workers", 1, "--hidden", 8)
    shown = pgso("compare", "diabetes", *options)
    assert shown.exit_code == 0, shown.output
    assert "Test RMSE (lower is better)" in shown.stdout
    assert "points" not in shown.stdout
    output = json.loads(pgso("compare", "diabetes", *options, "--json").stdout)
    candidate = next(e for e in output["test"]["differences"])
    assert candidate["metric"] == output["metric"] == "rmse"


def test_links_are_compared_by_one_word_more(pgso, tmp_path, monkeypatch):
    no_report(monkeypatch)
    shown = pgso("compare", *TOY, "--task", "link", "--json")
    assert shown.exit_code == 0, shown.output
    output = json.loads(shown.stdout)
    assert output["metric"] == "link_auc"
    assert output["report"].endswith("runs/karate/none")


def test_a_finished_comparison_and_its_pages_need_no_torch(pgso, tmp_path):
    assert pgso("compare", *TOY).exit_code == 0
    page = tmp_path / "runs" / "karate" / "report.html"
    first = page.read_text()
    page.unlink()
    script = (
        "import sys; from pgso.__main__ import main\n"
        f"for words in (['report'], ['compare', *{[*map(str, TOY)]}]):\n"
        "    sys.argv = ['pgso', *words]\n"
        "    try: main()\n"
        "    except SystemExit as event: assert not event.code, event.code\n"
        "assert 'torch' not in sys.modules"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert page.read_text() == first


def test_evidence_is_the_recipe_s(pgso):
    refused = pgso("compare", "karate", "--recipe", "robust", "--set", "evidence=0.999")
    assert refused.exit_code == 2
    assert "--set cannot change evidence here" in refused.output


def test_another_setting_gets_a_folder_with_a_number_and_the_same_one_is_written_again(
    pgso, tmp_path
):
    one = ("--seeds", 1, "--workers", 1, "--no-reference", "--json")
    shown = [json.loads(pgso("compare", "karate", "--epochs", k, *one).stdout) for k in (1, 2, 1)]
    names = [output["report"].split("/")[-2] for output in shown]
    assert names == ["karate", "karate-2", "karate"]
    assert shown[0]["found"]["command"] == "pgso train karate --operator found --epochs 1"
    assert shown[0]["next"]
