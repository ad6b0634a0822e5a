from pathlib import Path

import pytest

from pgso.data.places import data_root, held, is_writable
from pgso.errors import InputError


def test_the_data_root_is_the_argument_else_the_variable_else_the_home(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PGSO_DATA", "/variable")
    assert data_root("/argument") == Path("/argument")
    assert data_root() == Path("/variable")
    monkeypatch.delenv("PGSO_DATA")
    assert data_root() == tmp_path / ".cache" / "pgso"


def test_a_folder_marked_read_only_is_not_writable_even_for_root(tmp_path):
    assert is_writable(tmp_path / "new" / "folder")
    tmp_path.chmod(0o555)
    assert not is_writable(tmp_path)
    assert not is_writable(tmp_path / "new" / "folder")
    tmp_path.chmod(0o755)


def test_files_are_read_again_only_if_they_change(tmp_path):
    reads = []

    @held
    def read(path, scale):
        reads.append(path)
        if path.read_text() == "bad":
            raise InputError("bad")
        return int(path.read_text()) * scale

    file = tmp_path / "number"
    file.write_text("2")
    assert [read(file, 1), read(file, 1), read(file, 3)] == [2, 2, 6]
    file.write_text("4")
    assert read(file, 1) == 4
    assert len(reads) == 3
    file.write_text("bad")
    for _ in range(2):
        with pytest.raises(InputError):
            read(file, 1)


def test_a_folder_is_as_old_as_its_files(tmp_path):
    count = held(lambda folder: len(list(folder.iterdir())))
    assert count(tmp_path) == 0
    (tmp_path / "file").write_text("x")
    assert count(tmp_path) == 1
