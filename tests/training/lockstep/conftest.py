"""What tests of lockstep share."""

import pytest

from pgso.training.lockstep import runs


@pytest.fixture
def groups(monkeypatch):
    """The sizes of the groups that are trained together in this process."""
    sizes = []
    real = runs._records

    def spying(members):
        sizes.append(len(members))
        return real(members)

    monkeypatch.setattr(runs, "_records", spying)
    return sizes
