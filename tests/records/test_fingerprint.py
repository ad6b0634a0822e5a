"""Whether a record is of the files that are there now."""

import os

from pgso import fit
from pgso.records import RunRecord, RunSpec, Store
from pgso.records.files import file_kind, fingerprint


def test_a_name_has_no_files_to_look_at(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert fingerprint("Cora") is None


def test_a_record_of_files_that_changed_since_does_not_count(tmp_path):
    folder = tmp_path / "friends"
    folder.mkdir()
    (folder / "edges.csv").write_text("a,b")
    spec, store = RunSpec(dataset=str(folder)), Store(tmp_path / "runs")
    store.put(RunRecord(spec=spec, val=0.5, data=fingerprint(str(folder))))
    assert store.missing([spec]) == []
    (folder / "labels.csv").write_text("a,1")
    assert store.get(spec) is None
    assert store.missing([spec]) == [spec]


def test_files_that_are_no_part_of_the_dataset_do_not_count(tmp_path):
    for name in ("edges.csv", "Labels.tsv", "features.parquet", "columns.json", "splits.csv.gz"):
        assert file_kind(name)
        (tmp_path / name).write_text("a,b")
    before = fingerprint(str(tmp_path))
    (tmp_path / "predictions.csv").write_text("a,1")
    (tmp_path / "best.safetensors").write_text("")
    assert fingerprint(str(tmp_path)) == before
    (tmp_path / "Labels.tsv").write_text("a,c")
    assert fingerprint(str(tmp_path)) != before


def test_a_folder_that_is_called_like_a_dataset_is_not_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    spec, store = RunSpec(dataset="karate", epochs=1), Store(tmp_path / "runs")
    (tmp_path / "karate").mkdir()
    store.put(fit(spec))
    assert store.missing([spec]) == []
    (tmp_path / "karate").rmdir()
    assert store.missing([spec]) == []


def test_a_file_replaced_by_one_of_the_same_size_and_time_is_another_state(tmp_path):
    file = tmp_path / "edges.csv"
    file.write_text("a,b\n")
    before, status = fingerprint(str(tmp_path)), file.stat()
    file.write_text("a,c\n")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert file.stat().st_size == status.st_size
    assert fingerprint(str(tmp_path)) != before
    file.write_text("a,b\n")  # the time of writing alone makes no difference
    assert fingerprint(str(tmp_path)) == before


def test_a_large_file_that_only_changes_behind_what_is_read_is_another_state(tmp_path, monkeypatch):
    monkeypatch.setattr("pgso.records.files.READ_UP_TO", 2)
    file = tmp_path / "edges.csv"
    file.write_text("a,b\n")
    before = fingerprint(str(tmp_path))
    (tmp_path / "new").write_text("a,c\n")
    os.utime(tmp_path / "new", ns=(file.stat().st_atime_ns, file.stat().st_mtime_ns))
    os.replace(tmp_path / "new", file)
    assert fingerprint(str(tmp_path)) != before
