"""Nothing is downloaded, and no copy is written outside the test's own folder."""

import pytest


@pytest.fixture(autouse=True)
def cache_folder(tmp_path, monkeypatch):
    folder = tmp_path / "processed"
    monkeypatch.setenv("PGSO_CACHE", str(folder))
    return folder


@pytest.fixture(autouse=True)
def _offline(monkeypatch):
    def refuse(*args, **kwargs):
        raise OSError("the tests stay offline")

    monkeypatch.setattr("socket.socket.connect", refuse)
