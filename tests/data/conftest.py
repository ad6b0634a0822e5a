"""Nothing is downloaded."""

import pytest


@pytest.fixture(autouse=True)
def _offline(monkeypatch):
    def refuse(*args, **kwargs):
        raise OSError("the tests stay offline")

    monkeypatch.setattr("socket.socket.connect", refuse)
