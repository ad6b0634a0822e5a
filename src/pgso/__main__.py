"""``python -m pgso``."""

from pgso.cli.main import run

run()
