"""Rows that cannot be read are refused by name, or left out and listed if that is asked for."""

import pytest

import pgso
from pgso.errors import InputError


@pytest.fixture
def folder(tmp_path):
    rows = [f"c{i},{i % 7},2024-01-{1 + i % 28:02d},{'yes' if i % 3 else 'no'}" for i in range(40)]
    rows[3] = "c3,three,2024-01-01,yes"
    rows[8] = "c8,1,last week,no"
    (tmp_path / "features.csv").write_text("id,visits,since,buys\n" + "\n".join(rows) + "\n")
    edges = "".join(f"c{i},c{(i + 1) % 40}\n" for i in range(40))
    (tmp_path / "edges.csv").write_text("source,target\n" + edges)
    (tmp_path / "columns.json").write_text('{"since": "date", "visits": "number"}')
    return tmp_path


def test_a_bad_row_is_refused_with_its_line_and_column(folder):
    with pytest.raises(InputError, match=r"features.csv, line 5: column 'visits'.*'three'"):
        pgso.load_task(folder, target="buys")


def test_bad_rows_are_left_out_with_their_edges_and_listed(folder):
    task = pgso.load_task(folder, target="buys", bad_rows="skip")
    assert len(task.ids) == 38
    assert not {"c3", "c8"} & set(task.ids)
    assert task.num_edges == 2 * (40 - 4)
    left_out = [note for note in task.notes if note.startswith("left out")]
    assert ["line 5" in left_out[0], "line 10" in left_out[1]] == [True, True]


def test_the_label_and_the_part_of_a_bad_row_are_left_out_with_it(folder):
    (folder / "labels.csv").write_text(
        "id,label\n" + "".join(f"c{i},{'ab'[i % 2]}\n" for i in range(40))
    )
    parts = ("train", "train", "val", "test")
    (folder / "splits.csv").write_text(
        "id,split\n" + "".join(f"c{i},{parts[i % 4]}\n" for i in range(40))
    )
    task = pgso.load_task(folder, bad_rows="skip")
    assert task.ids == tuple(f"c{i}" for i in range(40) if i not in (3, 8))
    classes = {name: task.classes[y] for name, y in zip(task.ids, task.y.tolist(), strict=True)}
    assert all(label == "ab"[int(name[1:]) % 2] for name, label in classes.items())
    assert {task.ids[k] for k in task.val} == {f"c{i}" for i in range(40) if i % 4 == 2}
    assert any("labels.csv, line 5" in note for note in task.notes)
    assert any("splits.csv, line 5" in note for note in task.notes)


def test_other_words_for_it_are_refused(folder):
    with pytest.raises(InputError, match="bad_rows must be one of refuse, skip; got 'drop'"):
        pgso.load_task(folder, target="buys", bad_rows="drop")
