from pgso.records import RunRecord, RunSpec, Store
from pgso.records.fingerprint import fingerprint


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
