"""``pgso sweep``: the best choice of every operator."""

import json


def test_the_choice_of_each_operator_is_shown_and_comes_as_json(pgso):
    toy = ("sweep", "karate", "--space", "epochs=[1,3]", "--seeds", 1, "--workers", 1)
    toy = (*toy, "--operator", "fixed", "--operator", "pgso")
    shown = pgso(*toy)
    assert shown.exit_code == 0, shown.output
    assert "best of 2" in shown.stdout
    found = json.loads(pgso(*toy, "--json").stdout)
    assert [entry["operator"] for entry in found] == ["fixed", "pgso"]
    assert all(entry["choice"]["epochs"] in (1, 3) for entry in found)
    assert all(0 <= entry["test"] <= 1 for entry in found)
