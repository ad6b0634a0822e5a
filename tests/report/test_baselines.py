"""Baselines over the seeds."""

import pytest

from pgso.objectives import OBJECTIVES
from pgso.report.baselines import baselines_grid, mean_baselines
from tests.report.data import MUST_BEAT, make_data


def test_scores_are_means_over_the_seeds_that_have_one():
    other = tuple(entry.model_copy(update={"test": 0.9, "val": None}) for entry in MUST_BEAT)
    data = [make_data(0), make_data(1, baselines=other)]
    means = mean_baselines(data)
    assert [entry.test for entry in means] == pytest.approx([0.75, 0.8, 0.85])
    assert means[0].val == 0.5
    grid = baselines_grid(data, OBJECTIVES["accuracy"])
    assert grid.rows[0] == ("most frequent class", "50.0", "75.0")
    assert grid.caption == "Means over 2 splits."


def test_a_task_without_baselines_has_no_rows():
    assert baselines_grid([make_data(baselines=())], OBJECTIVES["accuracy"]).rows == ()
