from pathlib import Path

from pgso.data.places import data_root, is_writable, may_keep_copies, processed_root


def test_the_data_root_is_the_argument_else_the_variable_else_the_home(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PGSO_DATA", "/variable")
    assert data_root("/argument") == Path("/argument")
    assert data_root() == Path("/variable")
    monkeypatch.delenv("PGSO_DATA")
    assert data_root() == tmp_path / ".cache" / "pgso"


def test_processed_copies_go_to_the_variable_else_the_home(monkeypatch, tmp_path):
    monkeypatch.setenv("PGSO_CACHE", "/variable")
    assert processed_root() == Path("/variable")
    monkeypatch.delenv("PGSO_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert processed_root() == tmp_path / ".cache" / "pgso" / "processed"


def test_a_folder_marked_read_only_is_not_writable_even_for_root(tmp_path):
    assert is_writable(tmp_path / "new" / "folder")
    tmp_path.chmod(0o555)
    assert not is_writable(tmp_path)
    assert not is_writable(tmp_path / "new" / "folder")
    tmp_path.chmod(0o755)


def test_offline_no_copy_is_kept_inside_the_data_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("PGSO_DATA", str(tmp_path))
    monkeypatch.setenv("PGSO_CACHE", str(tmp_path / "processed"))
    assert may_keep_copies()
    monkeypatch.setenv("PGSO_OFFLINE", "1")
    assert not may_keep_copies()
    monkeypatch.setenv("PGSO_CACHE", str(tmp_path.parent / "elsewhere"))
    assert may_keep_copies()
