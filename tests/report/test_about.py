"""The data, the baselines and the runs in tables."""

import pytest

from pgso.objectives import OBJECTIVES
from pgso.records import NUMERICS
from pgso.records.data import ClassCount, FeatureColumn, TargetRange
from pgso.report.about import (
    MOST_CLASSES,
    baselines_grid,
    data_section,
    mean_baselines,
    runs_section,
)
from tests.report.data import MUST_BEAT, make_data
from tests.report.records import THREE, make_record, make_runs


def cells(data, title):
    section = data_section([data])
    grids = (*section.panels, *section.folded)
    return {row[0]: row[1:] for grid in grids if title in grid.title for row in grid.rows}


def test_the_graph_is_counted_in_words():
    graph = cells(make_data(), "The graph")
    assert graph["edges"] == ("200, undirected",)
    assert graph["degree: least, median, mean, most"] == ("0, 3.5, 4, 12",)
    assert graph["components"] == ("3 (the largest has 98 % of the nodes)",)
    assert graph["adjusted homophily"] == ("0.42 (like links to like)",)
    kinds = {f"kind{k}": 9 - k for k in range(12)}
    listed = cells(make_data(relations=kinds), "The graph")["kinds of edges"][0]
    assert listed.startswith("kind0 9, kind1 8, ")
    assert listed.endswith("kind9 0 and 2 more")
    directed = cells(make_data(is_directed=True, is_weighted=True, num_edges=399), "The graph")
    assert directed["edges"] == ("399, directed, weighted",)


def test_classes_come_with_their_shares_and_splits():
    assert cells(make_data(), "2 classes") == {
        "stays": ("45", "75.0 %", "22", "12", "11"),
        "leaves": ("15", "25.0 %", "8", "3", "4"),
    }
    many = tuple(ClassCount(name=str(k), train=k, val=0, test=0) for k in range(MOST_CLASSES + 2))
    (grid,) = data_section([make_data(classes=many)]).folded
    assert len(grid.rows) == MOST_CLASSES
    assert grid.caption == "2 rarer ones are left out."


def test_targets_and_columns_have_tables_where_there_are_some():
    data = make_data(
        classes=(),
        answer="value",
        targets=(TargetRange(name="price", known=9, low=1, mean=2.5, high=4),),
        columns=(FeatureColumn(name="city", kind="category", missing=3, became="8 columns"),),
    )
    assert cells(data, "Targets") == {"price": ("9", "1", "2.5", "4")}
    assert cells(data, "Columns of the table") == {"city": ("category", "3", "8 columns")}
    assert data_section([]) is None


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


def test_every_run_is_listed_with_the_software_that_made_it():
    records = [*make_runs(THREE), make_record("auto", 0, 0.5, chosen="pgso")]
    (runs,) = runs_section(records, None, {}).folded
    assert len(runs.rows) == len(records)
    assert "auto (PGSO)" in [row[0] for row in runs.rows]
    assert f"Made by numerics {NUMERICS}, pgso 0.1.0, torch 2.13.0." in runs.caption
