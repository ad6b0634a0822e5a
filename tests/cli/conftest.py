"""The command line, called in-process in an empty folder."""

import pytest
from typer.testing import CliRunner

from pgso.cli.main import app


@pytest.fixture
def pgso(tmp_path, monkeypatch):
    """``pgso("list", "convs")``: what a shell would show, where nothing has been run before."""
    monkeypatch.chdir(tmp_path)
    # One thread and no processes: a toy run is over before a worker has started.
    monkeypatch.setenv("OMP_NUM_THREADS", "1")

    def call(*arguments, **environment):
        return CliRunner().invoke(app, [*map(str, arguments)], env=environment)

    return call
