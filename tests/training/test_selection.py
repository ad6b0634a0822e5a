"""What S learned on does not choose the epoch; what chose the epoch does not judge."""

import dataclasses

import torch

from pgso.data import load_task
from pgso.training.fit import fit, fit_task
from pgso.training.session import Session
from tests.training.tasks import karate, minesweeper

GRID = {"rows": 20, "cols": 20}
ROBUST = {"recipe": "robust", "evidence": None, "data_options": GRID}


def selection(**choices):
    return Session(minesweeper(**choices), load_task("minesweeper", **GRID)).selection


def test_without_a_reason_to_divide_all_labels_choose():
    parts = selection(data_options=GRID)
    assert parts.chooses.all()
    assert not parts.judges.any()


def test_parts_do_not_overlap():
    parts = selection(**ROBUST)
    assert not (parts.teaches & parts.chooses).any()
    assert not (parts.teaches & parts.judges).any()
    assert not (parts.chooses_judged & parts.judges).any()
    assert (parts.teaches | parts.chooses_judged | parts.judges).all()
    halves = selection(s_loss="held_out", data_options=GRID)
    assert (halves.teaches ^ halves.chooses).all()


def test_s_does_not_see_the_labels_that_judge():
    """Turned labels outside of the part that teaches S change no step of the training."""
    task = load_task("minesweeper", **GRID)
    spec = minesweeper(epochs=3, operator="pgso", **ROBUST)
    parts = Session(spec, task).selection
    wrong = dataclasses.replace(task, y=task.y.clone())
    others = task.val[~parts.teaches]
    wrong.y[others] = 1 - wrong.y[others]
    (_, one), (_, other) = (fit_task(spec, each) for each in (task, wrong))
    assert one.curves["parameters"] == other.curves["parameters"]
    assert one.curves["val"] != other.curves["val"]
    taught = dataclasses.replace(task, y=task.y.clone())
    taught.y[task.val[parts.teaches]] = 1 - taught.y[task.val[parts.teaches]]
    _, third = fit_task(spec, taught)
    assert one.curves["parameters"] != third.curves["parameters"]


def test_judging_labels_do_not_choose_the_epoch_that_they_judge():
    task = load_task("minesweeper", **GRID)
    spec = minesweeper(epochs=6, operator="fixed", **ROBUST)
    wrong = dataclasses.replace(task, y=task.y.clone())
    rows = Session(spec, task).selection.judges
    wrong.y[task.val[rows]] = 1 - wrong.y[task.val[rows]]
    (one, first), (other, second) = (fit_task(spec, each) for each in (task, wrong))
    torch.testing.assert_close(one.selection.judged, other.selection.judged)
    assert first.judged.outputs == second.judged.outputs
    assert first.judged.answers != second.judged.answers


def test_labels_that_teach_s_do_not_choose_the_epoch():
    """Two epochs: the first is right where S learns, the second where it does not."""
    parts = selection(s_loss="held_out", data_options=GRID)
    right = torch.nn.functional.one_hot(parts.answers, 2).float()
    first = torch.where(parts.teaches.unsqueeze(1), right, 1 - right)
    assert parts.merit(1 - first, 0.4, 1.0) > parts.merit(first, 0.6, 0.5)


def test_a_run_that_is_judged_is_the_run_that_is_not():
    spec = minesweeper(epochs=5, operator="fixed", data_options=GRID)
    plain, judged = fit(spec), fit(spec.but(judges=True))
    assert (plain.val, plain.test, plain.curves) == (judged.val, judged.test, judged.curves)
    assert plain.judged is None
    assert len(judged.judged.items) == 67  # two thirds of 100


def test_a_handful_of_labels_is_not_divided():
    record = fit(karate(operator="pgso", recipe="robust", evidence=None, epochs=2))
    assert record.judged is None
