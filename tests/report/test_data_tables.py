"""The data in tables."""

from pgso.records.data import ClassCount, FeatureColumn, TargetRange
from pgso.report.data_tables import MOST_CLASSES, data_grids
from tests.report.data import make_data


def cells(data, title):
    return {
        row[0]: row[1:] for grid in data_grids([data]) if title in grid.title for row in grid.rows
    }


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
    grid = data_grids([make_data(classes=many)])[2]
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
    assert data_grids([]) == []
