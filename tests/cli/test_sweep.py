"""``pgso sweep``: the best choice of every operator."""

import json

import pytest

from pgso.records import Store


def test_the_choice_of_each_operator_is_shown_and_comes_as_json(pgso):
    toy = ("sweep", "karate", "--space", "epochs=[1,3]", "--seeds", 1, "--workers", 1)
    toy = (*toy, "--operator", "fixed", "--operator", "pgso")
    shown = pgso(*toy)
    assert shown.exit_code == 0, shown.output
    assert "best of 2" in shown.stdout
    after = shown.stdout.partition("next, with the choice of ")[2].partition(": ")[2].split()
    assert after[:4] == ["pgso", "compare", "karate", "--epochs"]
    assert pgso(*after[1:], "--seeds", 1, "--workers", 1).exit_code == 0
    output = json.loads(pgso(*toy, "--json").stdout)
    assert [entry["operator"] for entry in output] == ["fixed", "pgso"]
    assert all(entry["choice"]["epochs"] in (1, 3) for entry in output)
    assert all(0 <= entry["test"] <= 1 for entry in output)


def test_what_is_set_is_not_searched_over(pgso, tmp_path):
    settled = [f"--set={choice}" for choice in ("epochs=2", "hidden_channels=4", "num_layers=1")]
    shown = pgso("sweep", "karate", *settled, "--seeds", 1, "--operator", "fixed", "--workers", 1)
    assert "best of 1" in shown.stdout
    (record,) = Store(tmp_path / "runs")
    assert (record.spec.epochs, record.spec.hidden_channels, record.spec.num_layers) == (2, 4, 1)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--operator", "fixed", "--operator", "best"], "operator cannot be 'best'"),
        (["--space", "epochs=[1,-2]", "--search", "tpe"], "epochs cannot be -2"),
        (["--space", 'conv=["gcn","gnc"]'], "Did you mean 'gcn'?"),
        (["--space", 'preset=["gcn","gnc"]'], "Did you mean 'gcn'?"),
        (["--space", "seed=[1,2]"], "--space cannot change seed here: --seeds says how many"),
        (["--space", 'operator=["pgso"]'], "--space cannot change operator"),
        (["--space", 'objective=["accuracy","macro_f1"]'], "scores of several cannot be compared"),
        (["--space", 'task=["link","node"]'], "scores of several cannot be compared"),
        (["--set", "operator=pgso"], "--set cannot change operator here: --operator says which"),
        (["--set", "epochs=2", "--space", "epochs=[1]"], "epochs here: it is searched over"),
    ],
)
def test_what_cannot_be_is_said_before_the_first_run(pgso, tmp_path, options, sentence):
    shown = pgso("sweep", "karate", "--seeds", 1, "--workers", 1, *options)
    assert shown.exit_code == 2
    assert sentence in shown.stderr
    assert not (tmp_path / "runs" / "records").exists()


def test_a_choice_that_fails_is_tried_once(pgso):
    space = ("--space", 'shape=["channel"]', "--search", "tpe", "--trials", 3)  # widths differ
    shown = pgso("sweep", "karate", *space, "--seeds", 1, "--operator", "pgso", "--workers", 1)
    assert shown.exit_code == 1
    assert shown.stdout.count("failed:") == 1


def test_a_name_is_never_taken_for_markup(pgso, tmp_path):
    folder = tmp_path / "[red]"
    folder.mkdir()
    (folder / "edges.csv").write_text("".join(f"{i},{(i + 1) % 12}\n" for i in range(12)))
    (folder / "labels.csv").write_text("".join(f"{i},{i // 2 % 2}\n" for i in range(12)))
    options = ("--space", "epochs=[1]", "--seeds", 1, "--operator", "fixed", "--workers", 1)
    shown = pgso("sweep", "[red]", *options)
    assert shown.exit_code == 0, shown.output
    assert "[red], gcn: best of 1" in shown.stdout


def test_sweeps_of_other_operators_have_files_of_their_own(pgso, tmp_path):
    for operator in ("fixed", "pgso"):
        options = ("--space", "epochs=[1]", "--seeds", 1, "--operator", operator, "--workers", 1)
        assert pgso("sweep", "karate", *options).exit_code == 0
    assert len(list((tmp_path / "runs").glob("sweep-*/sweep.json"))) == 2
