"""What torchrun sets is taken whole, or refused."""

import pytest

from pgso.errors import InputError
from pgso.launch import Launch, launch, patience

WHOLE = {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "here", "MASTER_PORT": "29500"}


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch):
    for name in (*WHOLE, "PGSO_PATIENCE"):
        monkeypatch.delenv(name, raising=False)


def test_alone_and_among_others(monkeypatch):
    assert launch() == Launch(0, 1)
    monkeypatch.setenv("WORLD_SIZE", "1")
    assert launch() == Launch(0, 1)
    for name, value in WHOLE.items():
        monkeypatch.setenv(name, value)
    assert launch() == Launch(1, 2, "here", 29500)


@pytest.mark.parametrize("missing", WHOLE)
def test_half_of_it_is_refused(monkeypatch, missing):
    for name, value in WHOLE.items():
        if name != missing:
            monkeypatch.setenv(name, value)
    with pytest.raises(InputError, match=f"but not {missing}; start several processes"):
        launch()


@pytest.mark.parametrize(
    ("name", "value"), [("RANK", "2"), ("RANK", "-1"), ("WORLD_SIZE", "x"), ("MASTER_PORT", "1e3")]
)
def test_what_cannot_be_is_refused(monkeypatch, name, value):
    for key, given in {**WHOLE, name: value}.items():
        monkeypatch.setenv(key, given)
    with pytest.raises(InputError, match=name):
        launch()


def test_patience_is_a_setting(monkeypatch):
    assert patience() == 600
    monkeypatch.setenv("PGSO_PATIENCE", "2.5")
    assert patience() == 2.5
    for wrong in ("soon", "0", "-1", "nan", "inf"):
        monkeypatch.setenv("PGSO_PATIENCE", wrong)
        with pytest.raises(InputError, match="PGSO_PATIENCE must be a number of seconds"):
            patience()
