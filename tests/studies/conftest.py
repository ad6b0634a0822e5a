"""The command line, as tests of commands call it."""

from tests.cli.conftest import pgso

__all__ = ["pgso"]
