import subprocess
import sys

import pytest

from pgso.errors import UnknownNameError
from pgso.objectives import OBJECTIVES
from pgso.objectives.classes import Accuracy
from tests.registries import restored


def test_an_unknown_objective_is_refused_by_name():
    with pytest.raises(
        UnknownNameError, match=r"no objective is called 'acuracy'. Did you mean 'a"
    ):
        OBJECTIVES["acuracy"]


def test_names_may_be_written_as_people_write_them():
    for written, name in {"ROC-AUC": "roc_auc", "R²": "r2", "macro F1": "macro_f1"}.items():
        assert OBJECTIVES[written].name == name


def test_points_are_for_per_cents_only():
    assert {OBJECTIVES[name].unit for name in OBJECTIVES.answering("class")} == {"points"}
    assert OBJECTIVES["rmse"].unit == "in RMSE (lower is better)"
    assert OBJECTIVES["r2"].unit == "in R²"
    assert OBJECTIVES["roc_auc"].heading == "ROC-AUC, %"


def test_adding_one_is_one_class():
    class Errors(Accuracy):
        """The share of wrong examples."""

        name, label, larger_is_better = "errors", "errors", False

        def score(self, out, y):
            right = super().score(out, y)
            return None if right is None else 1 - right

    with restored(OBJECTIVES):
        OBJECTIVES.add(Errors())
        assert OBJECTIVES["errors"].merit(0.25) == -0.25


def test_readers_of_records_need_no_torch():
    program = "import pgso.objectives, sys; print({'torch', 'sklearn'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "set()"
