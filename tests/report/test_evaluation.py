"""Right and wrong, and what matters, over the seeds."""

import pytest

from pgso.objectives import OBJECTIVES
from pgso.records.record import (
    Bin,
    Calibration,
    Confusion,
    Detection,
    EdgeImportance,
    Evaluation,
    Explanation,
    FeatureImportance,
    LabelScore,
    Scatter,
    Threshold,
)
from pgso.report.evaluation import evaluation_section, explanation_grids, feature_bars
from tests.report.records import make_record


def make_evaluation(right, sure=8):
    empty = (Bin(0, 0.0, 0),) * 9
    bins = (*empty, Bin(10, float(sure), right))
    return Evaluation(
        part="test",
        examples=20,
        confusion=Confusion(classes=("a", "<b>"), counts=((right, 10 - right), (0, 10))),
        calibration=Calibration(
            temperature=2.0, error_before=0.2, error_after=0.1, before=bins, after=bins
        ),
        detection=Detection(
            positive="<b>", share=0.5, recall=(0.1 * right,) * 51, precision=(0.5,) * 51
        ),
        scatter=(Scatter(target="t", truth=(1.0, 2.0), predicted=(1.5, 2.5)),),
    )


RUNS = [
    make_record("pgso", seed, 0.5, evaluation=make_evaluation(right))
    for seed, right in enumerate((6, 8))
]


def panels_of(runs, candidate=None):
    return {panel.title: panel for panel in evaluation_section(runs, candidate).panels}


CONFUSION = "PGSO: true class by predicted class"


def test_counts_are_summed_and_curves_averaged_over_the_seeds():
    panels = panels_of(RUNS)
    grid = panels[CONFUSION]
    assert grid.rows == (("a", "14", "6", "70 %"), ("<b>", "0", "20", "100 %"))
    assert "summed over 2 seeds" in grid.caption
    roc, precision = panels["ROC of <b>"], panels["Precision and recall of <b>"]
    assert [y for _, y in roc.series[0].points] == pytest.approx([0.7] * 51)
    assert precision.series[-1].points == [(0, 0.5), (1, 0.5)]
    reliability = panels["Is it as sure as it should be?"]
    assert reliability.series[0].points == [(0.8, 0.7)]
    scatter = panels["t: predicted against true"]
    assert scatter.series[0].points == [(1.0, 1.5), (2.0, 2.5)]


COSTS = [  # of ten of <b> and ten of a: 0.5 finds two of them, 0.1 finds nine with three alarms
    Threshold(cost=1, threshold=0.5, flagged=0.1, recall=0.2, precision=1.0),
    Threshold(cost=9, threshold=0.1, flagged=0.6, recall=0.9, precision=0.75),
]


def test_a_rare_class_that_is_mostly_missed_is_shown_at_a_better_threshold():
    evaluation = make_evaluation(8)
    curves = evaluation.detection.model_copy(update={"costs": COSTS, "lift": (2.0,) * 50})
    missed = Confusion(classes=("a", "<b>"), counts=((10, 0), (8, 2)))
    update = {"detection": curves, "confusion": missed}
    runs = [make_record("pgso", 0, 0.5, evaluation=evaluation.model_copy(update=update))]
    panels = panels_of(runs, "pgso")
    usual, better, flags, *plots = panels.values()
    assert "Only 20 % of <b> is called right." in usual.caption
    assert better.title.endswith("at the threshold 0.1")
    assert better.rows == (("a", "7", "3", "70 %"), ("<b>", "1", "9", "90 %"))
    assert flags.rows == (
        ("1", "0.5", "10.0", "20.0", "100.0"),
        ("9", "0.1", "60.0", "90.0", "75.0"),
    )
    assert [plot.name for plot in plots[:3]] == ["roc", "precision", "lift"]
    found = evaluation.model_copy(update={"detection": curves})  # of which 0.5 finds all
    titles = panels_of([make_record("pgso", 0, 0.5, evaluation=found)])
    assert [title for title in titles if "true class" in title] == [CONFUSION]


def test_the_calibration_error_stands_before_and_after():
    assert panels_of(RUNS)["Calibration error"].rows == (("PGSO", "20.0", "2.00", "10.0"),)


def test_sets_show_what_was_asked_and_what_they_held():
    runs = [
        make_record(
            "fixed",
            seed,
            0.5,
            evaluation=make_evaluation(6).model_copy(
                update={"coverage": {"asked": 0.9, "held": held, "labels": 20, "size": 1.5}}
            ),
        )
        for seed, held in enumerate((0.8, 0.9))
    ]
    assert panels_of(runs)["Prediction sets"].rows[0][1:] == ("90", "85.0", "20", "1.5")


def test_labels_have_a_row_each_and_scores_of_every_operator():
    def scored(operator, seed, auc):
        rare = LabelScore(
            label="<i>", positives=0, examples=9, roc_auc=None, average_precision=None
        )
        red = LabelScore(label="red", positives=3, examples=10, roc_auc=auc, average_precision=0.5)
        evaluation = Evaluation(part="test", examples=10, labels=(red, rare))
        return make_record(operator, seed, 0.5, evaluation=evaluation)

    runs = [scored("fixed", 0, 0.6), scored("pgso", 0, 0.7), scored("pgso", 1, 0.9)]
    grid = panels_of(runs)["Label by label"]
    assert grid.header == ("label", "share, %", "fixed, ROC-AUC", "fixed, AP", "PGSO, ROC-AUC",
                           "PGSO, AP")  # fmt: skip
    assert grid.rows == (
        ("red", "30.0", "60.0", "50.0", "80.0", "50.0"),
        ("<i>", "0.0", "–", "–", "–", "–"),
    )


def test_runs_without_an_evaluation_have_no_tables():
    assert panels_of([make_record("pgso", 0, 0.5)]) == {}


def test_captions_name_the_part_that_was_counted():
    panels = panels_of(RUNS)
    assert panels[CONFUSION].caption.startswith("Test examples")
    assert "on test." in panels["Calibration error"].caption
    judged = make_evaluation(6).model_copy(update={"part": "val"})
    run = make_record("pgso", 0, None, 0.5, evaluation=judged)
    panels = panels_of([run])
    assert panels[CONFUSION].caption == "Validation examples."
    assert "on validation." in panels["Calibration error"].caption


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
    grid, *_ = explanation_grids(EXPLANATION, OBJECTIVES["accuracy"])
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
    assert (bars[0].start, bars[0].end, bars[0].high) == pytest.approx((zero, 87.5, 100.0))
    assert (bars[2].start, bars[2].end, bars[2].low) == pytest.approx((zero, 12.5, 0.0))


def test_edges_have_their_ends_and_what_they_add():
    assert explanation_grids(EXPLANATION, OBJECTIVES["accuracy"])[2].rows == (("a", "b", "0.900"),)
