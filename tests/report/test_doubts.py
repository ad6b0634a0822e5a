"""What speaks against a result is said."""

import pytest

from pgso import find
from pgso.data.task import IN_MEMORY
from pgso.records.data import GRAPH, GUESS, BaselineRecord
from pgso.report.doubts import doubts, doubts_of_finding
from tests.report.data import make_data
from tests.report.records import make_record, make_runs


def said(test, epoch=3, data=None, **choices):
    record = make_record("pgso", 0, test, epochs=20, epoch=epoch, choices=choices)
    return " ".join(doubts([record], [make_data() if data is None else data]))


@pytest.mark.parametrize(
    ("test", "words"),
    [
        (0.6, "every model predicts one class"),
        (0.55, "no network is better than guessing (60.0)"),
        (0.65, "a model without the graph does as well or better (70.0); try --set residual=true"),
        (0.75, "neighbours' labels without features do as well or better (80.0)"),
    ],
)
def test_what_a_network_does_not_beat_is_named(test, words):
    assert words in said(test)
    assert "than guessing" not in said(0.9)
    assert "as well" not in said(0.9)


def test_trees_that_do_as_well_are_named():
    trees = BaselineRecord(name="boosted_graph", label="trees", val=0.9, test=0.95)
    data = make_data(baselines=(*make_data().baselines, trees))
    assert "gradient boosting with means of neighbours does as well or better (95.0)" in said(
        0.9, data=data
    )
    assert "boosting" not in said(0.96, data=data)


def test_a_residual_network_is_not_told_to_be_one():
    assert "or better (70.0); try pgso find" in said(0.65, residual=True)


def test_a_run_that_was_still_rising_is_to_be_longer():
    assert "train longer with --epochs 80" in said(0.9, epoch=19)
    assert "longer" not in said(0.9, epoch=18)


def test_runs_that_diverge_on_columns_that_are_not_scaled_say_so():
    record = make_record("pgso", 0, 0.9, status="diverged", error="the loss became nan")
    large = make_data(classes=(), largest_feature=32_000.0)
    (doubt,) = doubts([record], [large])
    assert doubt.startswith("training diverged in 1 of 1 runs, and the largest feature is 3.2e+04")
    assert doubts([record], [make_data(classes=(), largest_feature=3.0)]) == []


def test_a_rare_class_is_named():
    assert "the class 'leaves' has 8 training examples: its scores are mostly luck" in said(0.9)


def test_a_class_that_may_stand_for_unknown_labels_is_named():
    data = make_data()
    first, *others = data.classes
    unsure = data.model_copy(update={"classes": (first.model_copy(update={"name": "NA"}), *others)})
    assert "a class is called 'NA'; if that stands for labels that are not known" in said(
        0.9, data=unsure
    )
    assert "stands for" not in said(0.9)


def test_what_find_keeps_is_held_against_the_same():
    finding = find("karate").record
    best = finding.rung(finding.best)
    assert doubts_of_finding(finding) == []  # nothing is known about its data
    strong = make_data(classes=(), metric=finding.metric)
    beaten = finding.model_copy(update={"data": strong})
    assert best.test is not None
    rival = strong.baselines[1].model_copy(update={"test": best.test})
    known = strong.model_copy(update={"baselines": (rival,)})
    (doubt,) = doubts_of_finding(beaten.model_copy(update={"data": known}))
    assert doubt.startswith("a model without the graph does as well or better")
    features = best.model_copy(update={"family": "features"})
    no_graph = beaten.model_copy(update={"data": known, "rungs": (features,)})
    assert doubts_of_finding(no_graph) == []  # it is such a model itself


def test_where_features_say_nothing_the_labels_of_neighbours_may():
    finding = find("karate").record.model_copy(update={"signal": "neither"})
    data = make_data(classes=(), metric=finding.metric)
    spread = BaselineRecord(name=GRAPH, label="neighbours' labels, no features", val=0.9, test=0.95)
    guess = BaselineRecord(name=GUESS, label="most frequent class", val=0.5, test=0.5)

    def said_of(*baselines):
        known = data.model_copy(update={"baselines": baselines})
        return doubts_of_finding(finding.model_copy(update={"data": known}))

    (note,) = said_of(guess, spread)
    assert note.startswith("neighbours' labels alone score 95.0 on test")
    assert said_of(guess, spread.model_copy(update={"val": 0.5})) == []


def test_seeds_that_score_different_classes_are_said():
    runs = [
        run.model_copy(update={"metric": "average_precision", "positive": name})
        for run, name in zip(make_runs({"fixed": (0.5, 0.6)}), "ab", strict=True)
    ]
    assert any("seeds score different classes (a and b)" in doubt for doubt in doubts(runs, []))
    same = [run.model_copy(update={"positive": "a"}) for run in runs]
    assert not any("different classes" in doubt for doubt in doubts(same, []))


def test_python_is_not_told_a_shell_option():
    runs = make_runs({"fixed": [0.9, 0.8], "pgso": [0.9, 0.8]})
    assert any("train longer with --epochs 16" in doubt for doubt in doubts(runs, []))
    mine = [run.model_copy(update={"spec": run.spec.but(dataset=IN_MEMORY)}) for run in runs]
    assert any(doubt.endswith("train longer with epochs=16") for doubt in doubts(mine, []))


def test_what_a_network_lacks_is_said():
    finding = find("karate").record
    best = finding.rung(finding.best)
    labels = best.model_copy(update={"blocks": (*best.blocks, "gcn labels")})
    boosted = finding.model_copy(update={"rungs": (labels,), "head": "boosted"})
    (note,) = doubts_of_finding(boosted)
    assert note.startswith(
        "use the closed form (--save): a network of it has no trees and no labels"
    )
