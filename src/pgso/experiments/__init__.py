"""The studies of the paper, one file each: what to run, and how to show it."""

from importlib import import_module
from pathlib import Path

from pgso.experiments.study import EXPERIMENTS, Experiment, Size, needed, whole

for _path in sorted(Path(__file__).parent.glob("[a-z]*.py")):
    import_module(f"pgso.experiments.{_path.stem}")

__all__ = ["EXPERIMENTS", "Experiment", "Size", "needed", "whole"]
