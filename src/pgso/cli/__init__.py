"""The command line: one file a command; importing the package registers them all."""

from pgso.cli import demo as demo
from pgso.cli import listing as listing
