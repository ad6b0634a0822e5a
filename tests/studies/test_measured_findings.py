"""The tables of results/find/page.md say what was measured, and nothing else."""

import json

from pgso_studies.readme import risk_table, scores_table


def write(folder, name, content):
    (folder / "find").mkdir(exist_ok=True)
    (folder / "find" / f"{name}.json").write_text(json.dumps(content))


def test_scores_have_their_interval_and_the_difference_that_splits_could_show(tmp_path):
    kept = ["self + mean, 1 hop", "no graph", "self + mean, 1 hop"]
    runs = [
        {"kept": name, "test": 0.8 + gain, "gcn": 0.8}
        for name, gain in zip(kept, (0.03, 0.03, 0.01), strict=True)
    ]
    row = {"dataset": "Cora", "splits": 3, "test": 0.8233, "gcn": 0.8, "gain": 0.0233}
    row |= {"processor_seconds": 0.71, "runs": runs}
    machine = {"threads": 1, "torch": "2.13"}
    content = {"ladder": 7, "machine": machine, "planned": {"Cora": 3, "photo": 10}, "rows": [row]}
    write(tmp_path, "scores", content)
    shown = scores_table(tmp_path)
    assert "measured with it: photo (0 of 10)." in shown
    # 3, 3 and 1 points: t_{2, .975} = 4.303 times 1.155 / sqrt 3 is 2.9.
    differences = "+2.3 [-0.5, 5.2] | +2.9 | self + mean, 1 hop (2 of 3) | 0.7 |"
    assert f"| Cora | 3 | 82.3 | 80.0 | {differences}" in shown
    assert "Revision 7 of the ladder" in shown
    assert "faster" not in shown
    write(tmp_path, "against_training", {"ladder": 6, "rungs": 29, "times_faster": 291.5})
    assert "faster" not in scores_table(tmp_path)  # of another ladder
    write(tmp_path, "against_training", {"ladder": 7, "rungs": 29, "times_faster": 291.5})
    assert "292 times faster than training its 29 rungs" in scores_table(tmp_path)


def test_wrong_climbs_are_counted_by_scenario(tmp_path):
    rows = [
        {"truth": "nothing", "labels": 80, "val": 0, "repeats": 400, "beyond": 9, "wrong": 6},
        {"truth": "gcn", "metric": "roc_auc", "hubs": True, "repeats": 0, "beyond": 0, "wrong": 0},
    ]
    write(tmp_path, "risk", {"ladder": 7, "rows": rows})
    shown = risk_table(tmp_path)
    shares = "9 (2.2 % [1.0, 4.2]) | 6 (1.5 % [0.6, 3.2])"
    assert f"| nothing | 80 labels, 0 for validation | 400 | {shares} |" in shown
    assert "| gcn | roc auc, hubs | 0 | – | – |" in shown
    assert "of 400 graphs, `find` climbs beyond the truth on 9 (2.2 %" in shown
    write(tmp_path, "risk.ladder-6", {"ladder": 6, "rows": [{**rows[0], "repeats": 100}]})
    assert "Revision 6 of the ladder: of 100 graphs" in risk_table(tmp_path)


def test_what_was_not_measured_names_its_command(tmp_path):
    write(tmp_path, "risk", [{"truth": "nothing"}])  # of before there was a revision
    assert "python -m benchmarks.finding.risk" in risk_table(tmp_path)
    assert "python -m benchmarks.finding`" in scores_table(tmp_path)
