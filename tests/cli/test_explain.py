"""``pgso explain`` at toy size: tables, JSON, and a place on the run's page."""

import json

TRAIN = ("train", "customers", "--epochs", 3, "--option", "size=300", "--save", "m.safetensors")
EXPLAIN = ("explain", "m.safetensors", "customers", "--option", "size=300", "--repeats", 2)


def test_what_matters_is_printed_kept_in_the_record_and_shown_on_the_page(pgso, tmp_path):
    assert pgso(*TRAIN).exit_code == 0
    shown = pgso(*EXPLAIN, "--top", 3)
    assert shown.exit_code == 0, shown.output
    for words in ("Which columns matter", "Which edges matter", "of the validation set"):
        assert words in " ".join(shown.stdout.split())
    (page,) = (tmp_path / "runs" / "records").glob("*.html")
    text = page.read_text()
    assert "What matters: PGSO, seed 0" in text
    assert text.count('class="track"') == 11  # columns without the id
    output = json.loads(pgso(*EXPLAIN, "--item", "5", "--json").stdout)
    assert output["report"] == f"runs/records/{page.name}"
    assert len(output["features"]) == 11
    record = json.loads(page.with_suffix(".json").read_text())
    assert record["explanation"]["items"] == "5"


def test_an_item_that_is_not_there_is_named(pgso):
    assert pgso("train", "karate", "--epochs", 1, "--save", "k.safetensors").exit_code == 0
    shown = pgso("explain", "k.safetensors", "karate", "--item", "99")
    assert shown.exit_code == 2
    assert "has no item called '99'" in shown.stderr
