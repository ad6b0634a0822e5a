"""The command line: one file a command; importing the package registers them all."""

from pgso.cli import compare as compare
from pgso.cli import doctor as doctor
from pgso.cli import explain as explain
from pgso.cli import find as find
from pgso.cli import listing as listing
from pgso.cli import predict as predict
from pgso.cli import run as run
from pgso.cli import spectrum as spectrum
from pgso.cli import sweep as sweep
from pgso.cli import train as train
