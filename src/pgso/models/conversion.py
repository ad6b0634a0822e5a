"""The older path of :mod:`pgso.conversion`."""

from pgso.conversion import *  # noqa: F403
