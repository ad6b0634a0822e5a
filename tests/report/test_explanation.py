"""What matters, in tables and bars."""

from pgso.objectives import OBJECTIVES
from pgso.records.explanation import EdgeImportance, Explanation, FeatureImportance
from pgso.report.explanation import edges_grid, feature_bars, features_grid

EXPLANATION = Explanation(
    score=0.8,
    repeats=10,
    features=(
        FeatureImportance(name="age", loss=0.1, low=0.08, high=0.12, p=0.001, matters=True),
        FeatureImportance(name="city", loss=0.01, low=-0.01, high=0.03),
        FeatureImportance(name="shoe", loss=-0.02, low=-0.04, high=0.0),
    ),
    left_out=3,
    items="30 nodes",
    edges=(EdgeImportance(source="a", target="b", importance=0.9),),
)


def test_columns_are_in_points_with_their_intervals_and_a_word():
    grid = features_grid(EXPLANATION, OBJECTIVES["accuracy"])
    assert grid.rows == (
        ("age", "+10.00", "8.00 to 12.00", "yes"),
        ("city", "+1.00", "-1.00 to 3.00", "unsure"),
        ("shoe", "-2.00", "-4.00 to 0.00", "no"),
    )
    assert "(score: 80.0)" in grid.caption
    assert "3 columns with small gradients were not shuffled" in grid.caption


def test_bars_stand_on_one_scale_and_stay_inside_it():
    bars = feature_bars(EXPLANATION, OBJECTIVES["accuracy"])
    zero = 25.0  # from -0.04 to 0.12
    assert (bars[0].left, bars[0].width, bars[0].high) == (zero, 62.5, 100.0)
    assert (bars[2].left, bars[2].width, bars[2].low) == (12.5, 12.5, 0.0)


def test_edges_have_their_ends_and_what_they_add():
    assert edges_grid(EXPLANATION).rows == (("a", "b", "0.900"),)
