import errno
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pgso.errors import InputError
from pgso.records import RunRecord, RunSpec, Store
from pgso.records.files import OLD, write_atomically
from pgso.records.store import read_record

SPECS = [RunSpec(dataset="karate", seed=seed) for seed in range(3)]


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "runs")


def everything_under(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("culprit", ["fsync", "replace", "chmod"])
@pytest.mark.parametrize("before", [None, "old"])
def test_a_crash_while_writing_leaves_the_old_file_or_none(tmp_path, monkeypatch, culprit, before):
    path = tmp_path / "file.json"
    if before is not None:
        write_atomically(path, before)

    def crash(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, culprit, crash)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, "new")
    assert everything_under(tmp_path) == (set() if before is None else {"file.json"})
    assert before is None or path.read_text() == before


def test_nothing_but_the_file_is_left_after_writing(tmp_path):
    write_atomically(tmp_path / "new" / "folder" / "file", b"\x00\xff")
    assert everything_under(tmp_path) == {"file"}
    assert (tmp_path / "new" / "folder" / "file").read_bytes() == b"\x00\xff"


def test_a_record_that_exists_is_done_and_a_failed_one_is_tried_again(store):
    store.put(RunRecord(spec=SPECS[0]))
    store.put(RunRecord(spec=SPECS[1], status="failed", error="no luck"))
    assert store.missing([*SPECS, SPECS[2]]) == SPECS[1:]
    store.put(RunRecord(spec=SPECS[1], status="diverged"))
    assert store.missing(SPECS) == SPECS[2:]


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "",
        lambda text: text[: len(text) // 2],
        lambda text: text.replace('"status":"done"', '"status":"undone"'),
        lambda text: text.replace('"seed":0', '"seed":-1'),
        lambda text: text.replace('"dataset"', '"set of data"'),
        lambda text: "[]",
        lambda text: "\x00",
    ],
)
def test_a_damaged_record_counts_as_missing(store, damage):
    store.put(RunRecord(spec=SPECS[0], status="done", val=0.5))
    path = store.path(SPECS[0])
    path.write_text(damage(path.read_text()))
    assert store.get(SPECS[0]) is None
    assert store.missing(SPECS) == SPECS
    assert list(store) == []
    with pytest.raises(InputError, match="is not a record of a run") as error:
        read_record(path)
    assert "\n" not in str(error.value)


def test_a_file_that_is_no_text_counts_as_missing(store):
    store.put(RunRecord(spec=SPECS[0]))
    store.path(SPECS[0]).write_bytes(b"\xff\xfe\x00")
    assert store.get(SPECS[0]) is None


def test_the_record_of_another_run_under_this_name_counts_as_missing(store):
    store.put(RunRecord(spec=SPECS[0]))
    store.path(SPECS[0]).rename(store.path(SPECS[1]))
    assert store.get(SPECS[1]) is None


def test_an_unfinished_temporary_file_is_not_a_record(store):
    store.put(RunRecord(spec=SPECS[0]))
    text = store.path(SPECS[0]).read_text()
    (store.root / "records" / f".{SPECS[1].key}.json.abcd1234").write_text(text)
    assert [record.spec for record in store] == [SPECS[0]]


def test_records_are_found_by_going_through_the_store(store):
    assert list(store) == []
    for spec in SPECS:
        store.put(RunRecord(spec=spec))
    assert sorted(record.spec.seed for record in store) == [0, 1, 2]


def test_a_record_that_is_not_there_is_said_to_be_missing(tmp_path):
    with pytest.raises(InputError, match="there is no record of a run at"):
        read_record(tmp_path / "none.json")


def killed_while_writing(path):
    """A process that ends in the middle of writing this file."""
    write = (
        "import os, sys; from pathlib import Path; from pgso.records import store;"
        "os.fsync = lambda handle: os.kill(os.getpid(), 9);"
        "store.write_atomically(Path(sys.argv[1]), 'x')"
    )
    ended = subprocess.run([sys.executable, "-c", write, str(path)], check=False)
    assert ended.returncode == -9


def an_hour_old(file):
    os.utime(file, (time.time() - OLD - 1,) * 2)


def test_what_a_killed_process_left_unfinished_is_removed_after_an_hour(store):
    store.put(RunRecord(spec=SPECS[0], val=0.5))
    folder = store.root / "records"
    killed_while_writing(folder / "a.json")
    (unfinished,) = folder.glob(".*")
    an_hour_old(unfinished)
    under_way, theirs = folder / ".1.pgso-abc", folder / ".somebody.1.else-abc"
    for file in (under_way, theirs):
        file.write_text("")
    an_hour_old(theirs)
    assert store.missing(SPECS[:1]) == []
    assert everything_under(folder) == {f"{SPECS[0].key}.json", under_way.name, theirs.name}


def test_a_full_disc_is_named_with_the_file(tmp_path, monkeypatch):
    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match=r"No space left on device: .*record\.json"):
        write_atomically(tmp_path / "record.json", "x")


def test_a_record_that_is_no_text_is_one_sentence(tmp_path):
    (tmp_path / "record.json").write_bytes(b"\xff\xfe{}")
    with pytest.raises(InputError, match="not a record"):
        read_record(tmp_path / "record.json")


def test_a_pipe_is_written_to_and_a_link_is_followed(tmp_path):
    pipe, link, target = tmp_path / "pipe", tmp_path / "link", tmp_path / "target"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_atomically(pipe, "to the pipe")
    assert pipe.is_fifo()  # a device, such as /dev/null, must not become a file either
    assert os.read(reader, 100) == b"to the pipe"
    os.close(reader)
    link.symlink_to(target)
    write_atomically(link, "to the target")
    assert link.is_symlink()
    assert target.read_text() == "to the target"
