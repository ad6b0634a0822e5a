"""``pgso find``: the table, the verdict, the record, and what is refused."""

import json

import pytest

from pgso.data import Task
from pgso.records.finding import read_finding


def test_it_shows_the_ladder_and_the_verdict_and_writes_a_record(pgso, tmp_path):
    shown = pgso("find", "karate")
    assert shown.exit_code == 0, shown.output
    record = read_finding(tmp_path / "runs" / "find-karate" / "finding.json")
    for word in (
        "no graph",
        record.best,
        "leave one out",
        "pgso compare karate",
        "nodes 34",
        "use it on new rows: pgso find karate --save model",
    ):
        assert word in shown.stdout
    places = [shown.stdout.index(text) for text in (f"Use {record.best}", record.verdict,
              "pgso compare", "leave one out", f"→ {record.best}")]  # fmt: skip
    assert places == sorted(places)  # the verdict, what to type next, then the table
    assert (tmp_path / "runs" / "find-karate" / "report.html").exists()


def test_the_command_that_confirms_it_finds_the_data_too(pgso, tmp_path):
    shown = pgso("find", "karate", "--data", tmp_path / "my data")
    assert f" --data '{tmp_path / 'my data'}'\n" in shown.stdout


def test_json_is_nothing_but_json(pgso, tmp_path):
    shown = pgso("find", "karate", "--json", "--seed", 1, "--out", tmp_path / "elsewhere")
    found = json.loads(shown.stdout)
    assert found["best"] in [rung["name"] for rung in found["rungs"]]
    assert found["seed"] == 1
    assert found["headline"].startswith(f"Use {found['best']}: accuracy ")
    assert found["next"].startswith("pgso compare karate")
    assert read_finding(found["file"]).seed == 1


def test_all_rungs_are_shown_on_request(pgso):
    shown = pgso("find", "karate").stdout, pgso("find", "karate", "--all").stdout
    few, every = shown
    joined = [" ".join(text.split()) for text in shown]  # a narrow table breaks lines
    assert "more rungs with --all" in joined[0]
    assert "more rungs with --all" not in joined[1]
    assert len(every.splitlines()) > len(few.splitlines())


def test_a_users_folder_is_searched_too(pgso, tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    pairs = [(i, (i + step) % 30) for i in range(30) for step in (1, 2)]
    (folder / "edges.csv").write_text("\n".join(f"{i},{j}" for i, j in pairs))
    (folder / "labels.csv").write_text("\n".join(f"{i},{'ab'[i // 15]}" for i in range(30)))
    shown = pgso("find", folder, "--json")
    assert shown.exit_code == 0, shown.output
    assert json.loads(shown.stdout)["graph"]["num_nodes"] == 30
    rows = "".join(f"{i},{i % 7},{'Nice' if i % 3 else 'Lyon'}\n" for i in range(30))
    (folder / "features.csv").write_text("node,age,city\n" + rows)
    text = pgso("find", folder).stdout
    assert "standardised (mean" in text
    assert "2 columns of 0 and 1" in text


def test_bad_input_is_one_sentence(pgso, tmp_path):
    for arguments, words in {
        ("karat",): "Did you mean 'karate'",
        ("karate", "--option", "depth=2"): "no option 'depth'",
        ("karate", "--out", __file__): "must name a folder",
    }.items():
        shown = pgso("find", *arguments)
        assert shown.exit_code == 2
        assert words in shown.stderr
        assert len(shown.stderr.strip().splitlines()) == 1


def test_options_have_folders_of_their_own(pgso, tmp_path):
    for signal in ("graph", "neither"):
        shown = pgso("find", "customers", "--option", f"signal={signal}", "--option", "size=300")
        assert shown.exit_code == 0, shown.output
    names = sorted(path.name for path in (tmp_path / "runs").glob("find-*"))
    assert names == ["find-customers", "find-customers-2"]


def test_data_are_loaded_once(pgso, monkeypatch):
    loaded, made = [], Task.from_arrays

    def counted(name, **arrays):
        loaded.append(name)
        return made(name, **arrays)

    monkeypatch.setattr(Task, "from_arrays", counted)
    assert pgso("find", "karate", "--seed", 7).exit_code == 0  # which no other test has made
    assert loaded == ["karate"]


@pytest.mark.parametrize("part", ["val", "test"])
def test_a_split_that_cannot_be_compared_on_gets_no_command(pgso, tmp_path, part):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "edges.csv").write_text("\n".join(f"{i},{(i + 1) % 30}" for i in range(30)))
    (folder / "labels.csv").write_text("\n".join(f"{i},{'ab'[i // 15]}" for i in range(30)))
    parts = ["train", "train", part]
    (folder / "splits.csv").write_text("\n".join(f"{i},{parts[i % 3]}" for i in range(30)))
    shown = pgso("find", folder)
    assert shown.exit_code == 0, shown.output
    assert "pgso compare" not in shown.stdout
    assert "cannot confirm it on this split" in shown.stdout
    (page,) = (tmp_path / "runs").glob("*/report.html")
    assert "cannot confirm it on this split" in page.read_text(encoding="utf-8")
