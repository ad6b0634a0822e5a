import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pgso.data.task import IN_MEMORY
from pgso.errors import InputError
from pgso.report.comparison import compare, groups
from tests.report.records import THREE, make_record, make_runs

rates = st.integers(0, 1000).map(lambda k: k / 1000)


NO_EVIDENCE = "no evidence that learning the operator helps: "


def test_every_number_of_a_difference_is_the_paired_one():
    comparison = compare(make_runs(THREE)).test.difference("pgso")
    assert comparison.seeds == (0, 1, 2, 3)
    assert comparison.points == pytest.approx((8, 9, 10, 9))
    assert comparison.mean == pytest.approx(9)
    expected = stats.ttest_rel(THREE["pgso"], THREE["fixed"])
    assert comparison.p == pytest.approx(expected.pvalue)
    low, high = expected.confidence_interval(0.95)
    assert comparison.interval == pytest.approx((100 * low, 100 * high))


def test_a_summary_has_mean_spread_and_interval_in_points():
    fixed = compare(make_runs(THREE)).test.summaries[0]
    assert (fixed.operator, fixed.n) == ("fixed", 4)
    assert fixed.mean == pytest.approx(70.5)
    assert fixed.sd == pytest.approx(100 * stats.tstd(THREE["fixed"]))


def test_the_interval_of_scores_stays_among_scores():
    summary = compare(make_runs({"fixed": [0.99, 0.8, 0.97]})).test.summaries[0]
    assert summary.interval.high == 100
    assert summary.interval.low == pytest.approx(
        92 - (100 * stats.sem([0.99, 0.8, 0.97]) * 4.3027), abs=0.01
    )


def test_a_clear_gain_is_to_be_learned():
    # differences 15, 16, 17, 16 and two comparisons: 16 +- t(3, 0.9875) * 0.8165 / 2, t = 4.177
    verdict = compare(make_runs(THREE)).verdict
    gain = "mPGSO +16.0 points (95 % interval 14.3 to 17.7, 4 seeds)"
    assert verdict == f"learn the operator: accuracy 86.5, {gain}"


def test_in_a_notebook_a_comparison_shows_its_verdict():
    comparison = compare(make_runs(THREE))
    shown = f"Comparison({comparison.dataset}, {comparison.conv}: {comparison.verdict})"
    assert repr(comparison) == shown


def test_a_clear_loss_is_to_be_left():
    swapped = {"fixed": THREE["mpgso"], "pgso": THREE["fixed"]}
    verdict = compare(make_runs(swapped)).verdict
    loss = "PGSO -16.0 points (95 % interval -17.3 to -14.7, 4 seeds)"
    assert verdict == f"keep the fixed operator: accuracy 70.5, {loss}"


def test_a_difference_that_may_be_chance_is_no_evidence():
    runs = make_runs({"fixed": [0.70, 0.72, 0.69], "pgso": [0.71, 0.70, 0.70]})
    assert compare(runs).verdict.startswith(NO_EVIDENCE + "accuracy 70.3, PGSO +0.0 points")


def test_the_operator_is_chosen_on_validation_even_if_test_disagrees():
    runs = make_runs({"fixed": THREE["fixed"]})
    runs += [make_record("pgso", seed, 0.75 + seed / 100, val=0.9) for seed in range(4)]
    runs += [make_record("mpgso", seed, 0.95 + seed / 100, val=0.8) for seed in range(4)]
    comparison = compare(runs)
    assert comparison.candidate == "pgso"
    assert "PGSO +6" in comparison.verdict.replace("mPGSO", "m")


def test_auto_is_the_candidate_only_if_it_is_alone():
    runs = make_runs({**THREE, "auto": THREE["mpgso"]})
    assert compare(runs).candidate == "mpgso"
    assert compare(make_runs({"fixed": [0.5, 0.6], "auto": [0.7, 0.9]})).candidate == "auto"


@given(st.lists(st.tuples(rates, rates), min_size=2, max_size=8))
def test_swapping_fixed_and_learned_flips_every_difference(pairs):
    first, second = zip(*pairs, strict=True)
    there = compare(make_runs({"fixed": first, "pgso": second})).test.difference("pgso")
    back = compare(make_runs({"fixed": second, "pgso": first})).test.difference("pgso")
    assert there.points == pytest.approx([-value for value in back.points])
    assert there.p == back.p or there.p == pytest.approx(back.p)


def test_the_order_of_the_records_does_not_matter():
    runs = make_runs(THREE)
    assert compare(runs[::-1]) == compare(runs)


def test_one_seed_gives_no_interval_and_says_so():
    comparison = compare(make_runs({"fixed": [0.7], "pgso": [0.8]}))
    assert comparison.test.difference("pgso").holm_interval is None
    assert comparison.verdict.startswith("undecided: PGSO +10.0 points on the only seed")
    assert any("one seed gives no interval" in note for note in comparison.notes)


def test_two_seeds_without_a_clear_answer_ask_for_more():
    comparison = compare(make_runs({"fixed": [0.7, 0.6], "pgso": [0.8, 0.5]}))
    assert comparison.test.difference("pgso").holm_interval is not None
    assert comparison.verdict.startswith("undecided: ")
    assert comparison.verdict.endswith("; run more seeds")
    assert comparison.next_command.endswith("--seeds 10")


def test_differences_that_are_all_equal_give_no_interval():
    same = make_runs({"fixed": [0.5, 0.5, 0.5], "pgso": [0.6, 0.6, 0.6]})
    assert compare(same).verdict.startswith("undecided: PGSO +10.0 points on each of 3 seeds")
    none = make_runs({"fixed": [0.5, 0.6], "pgso": [0.5, 0.6]})
    assert compare(none).verdict == f"{NO_EVIDENCE}the same score on each of 2 seeds"


def test_seeds_without_a_partner_are_dropped_and_said():
    comparison = compare([*make_runs(THREE), make_record("pgso", 9, 0.1)])
    assert comparison.test.difference("pgso").seeds == (0, 1, 2, 3)
    assert any(note.startswith("seed 9 is not in the comparison") for note in comparison.notes)


def test_a_failed_run_is_left_out_and_said():
    failed = make_record("pgso", 3, None, status="failed", error="out of memory", epoch=None)
    runs = make_runs({"fixed": THREE["fixed"], "pgso": THREE["pgso"][:3]})
    comparison = compare([*runs, failed])
    assert comparison.test.difference("pgso").seeds == (0, 1, 2)
    assert "PGSO, seed 3 failed and is left out: out of memory" in comparison.notes


def test_a_run_that_diverged_counts_with_its_best_epoch():
    diverged = make_record("pgso", 0, 0.6, status="diverged", error="the loss became nan")
    runs = make_runs({"fixed": [0.7, 0.8]})
    comparison = compare([*runs, diverged, make_record("pgso", 1, 0.9)])
    assert comparison.test.difference("pgso").points == pytest.approx((-10, 10))
    assert any("PGSO, seed 0 diverged" in note for note in comparison.notes)


@pytest.mark.parametrize(
    ("scores", "reason"),
    [
        ({"pgso": [0.5, 0.6]}, "no scored run of the fixed operator"),
        ({"fixed": [0.5, 0.6]}, "no scored run of a learned operator"),
        ({"fixed": [None, None], "pgso": [None, None]}, "no run has a test score"),
    ],
)
def test_one_operator_alone_is_nothing_to_compare(scores, reason):
    assert reason in compare(make_runs(scores)).verdict


def test_records_of_different_settings_are_refused_with_what_differs():
    runs = [make_record("fixed", 0, 0.5), make_record("pgso", 0, 0.5, choices={"lr": 0.5})]
    with pytest.raises(InputError, match="2 different settings \\(lr\\)"):
        compare(runs)
    assert [len(group) for group in groups(runs)] == [1, 1]


def test_two_records_of_one_run_and_no_records_are_refused():
    with pytest.raises(InputError, match="two records of operator 'pgso' with seed 0"):
        compare([make_record("pgso", 0, 0.5)] * 2)
    with pytest.raises(InputError, match="no records"):
        compare([])


ERRORS = {
    "fixed": [1.10, 1.12, 1.09, 1.11],
    "pgso": [1.00, 1.03, 1.00, 1.01],
    "mpgso": [1.30, 1.35, 1.31, 1.30],
}


def test_of_errors_the_smaller_one_is_better_and_they_are_no_points():
    comparison = compare(make_runs(ERRORS, metric="rmse"))
    assert comparison.candidate == "pgso"
    assert comparison.verdict.startswith("learn the operator: RMSE 1.01, PGSO -0.09")
    assert "in RMSE (lower is better)" in comparison.verdict
    assert "points" not in comparison.verdict
    assert comparison.test.difference("pgso").surely == "better"
    assert comparison.test.difference("mpgso").surely == "worse"
    assert comparison.test.summaries[0].mean == pytest.approx(1.105)


def test_errors_that_grow_are_a_reason_to_keep_the_fixed_one():
    worse = {"fixed": ERRORS["fixed"], "pgso": ERRORS["mpgso"]}
    assert compare(make_runs(worse, metric="rmse")).verdict.startswith(
        "keep the fixed operator: RMSE 1.32, PGSO +"
    )
    better = compare(make_runs(worse, metric="r2"))
    assert better.verdict.startswith("learn the operator: R² 1.315, PGSO +0.2")


def test_an_interval_does_not_leave_the_bounds_of_its_objective():
    wild = {"fixed": [0.01, 0.9], "pgso": [0.02, 0.8]}
    low, high = compare(make_runs(wild)).test.summaries[0].interval
    assert (low, high) == (0.0, 100.0)
    low, high = compare(make_runs(wild, metric="mae")).test.summaries[0].interval
    assert low == 0.0
    assert high > 1


STRONGER = {"num_layers": 6, "norm": "batch", "residual": True}


def reference(scores):
    return [make_record("fixed", k, score, choices=STRONGER) for k, score in enumerate(scores)]


def test_a_stronger_fixed_network_that_does_better_is_the_verdict():
    comparison = compare(make_runs(THREE), reference([0.97, 0.98, 0.96, 0.97]))
    assert comparison.verdict.startswith(
        "take a fixed residual gcn of 6 layers with batch norm: accuracy 97.0; "
        "against it mPGSO -10.5 points"
    )
    assert comparison.reference.changes == {"operator": "fixed", **STRONGER}
    assert [entry.operator for entry in comparison.reference.differences] == ["pgso", "mpgso"]


def test_a_gain_over_the_stronger_network_too_is_to_be_learned():
    verdict = compare(make_runs(THREE), reference([0.60, 0.61, 0.62, 0.61])).verdict
    assert verdict.startswith("learn the operator: accuracy 86.5, mPGSO +16.0 points (95 %")
    other = "a fixed residual gcn of 6 layers with batch norm has accuracy 61.0"
    assert f"; {other}: against it mPGSO +25.5" in verdict


def test_a_gain_that_the_stronger_network_may_have_as_well_leaves_the_choice():
    verdict = compare(make_runs(THREE), reference([0.80, 0.95, 0.84, 0.89])).verdict
    assert verdict.startswith("learn the operator, or take a stronger network: accuracy 86.5")


def test_without_a_gain_a_stronger_network_that_is_no_better_changes_nothing():
    runs = make_runs({"fixed": [0.70, 0.72, 0.69], "pgso": [0.71, 0.70, 0.70]})
    assert compare(runs, reference([0.7, 0.71, 0.7])).verdict == compare(runs).verdict


def test_a_reference_is_paired_by_seed_and_of_one_setting():
    comparison = compare(make_runs(THREE), reference([0.9, 0.9])).reference
    assert comparison.difference("pgso").seeds == (0, 1)
    assert compare(make_runs(THREE)).reference is None
    mixed = [*reference([0.9]), make_record("fixed", 1, 0.9, choices={"num_layers": 5})]
    with pytest.raises(InputError, match="different settings"):
        compare(make_runs(THREE), mixed)


def test_a_stronger_network_of_another_revision_is_refused():
    old = [run.model_copy(update={"numerics": 1}) for run in make_runs({"fixed": [0.9] * 4})]
    with pytest.raises(InputError, match="revision"):
        compare(make_runs(THREE), old)


def test_runs_on_other_states_of_the_files_are_refused():
    runs = [run.model_copy(update={"data": str(run.spec.seed > 1)}) for run in make_runs(THREE)]
    with pytest.raises(InputError, match="2 states of the files"):
        compare(runs)


def test_the_rung_that_find_recommends_is_named_with_its_command():
    runs = make_runs({"fixed": [0.5, 0.6, 0.5], "found": [0.8, 0.91, 0.81]})
    named = [
        run.model_copy(update={"rung": ("gcn, 2 hops", "self + gcn, 1 hop")[run.spec.seed > 0]})
        if run.spec.operator == "found"
        else run
        for run in runs
    ]
    comparison = compare(named)
    found = comparison.found
    assert (found.rung, found.seeds, found.of) == ("self + gcn, 1 hop", 2, 3)
    assert found.command == "pgso train toy --operator found --epochs 4"
    said = "pgso find recommends self + gcn, 1 hop on 2 of 3 seeds, S = (0, 1, 0, 0, -0.5, -0.5, 1)"
    assert found.sentence == f"{said}; {found.command} trains it"
    assert comparison.verdict.startswith("use self + gcn, 1 hop, as pgso find recommends: accuracy")
    assert comparison.next_command == f"{found.command} --save model"
    assert comparison.to_dict()["found"]["rung"] == "self + gcn, 1 hop"
    network = {"conv": "bank", "terms": ("self", "gcn"), "num_layers": 1, "preset": None}
    of_rung = {"network": network, "closed_form": (0.7, 0.75)}
    headed = compare([run.model_copy(update=of_rung) for run in named]).found
    head = "a network (conv bank, terms self + gcn, num_layers 1), whose closed form scores 75.0"
    assert headed.sentence == f"{said}, head: {head} on test; {found.command} trains it"


def test_the_next_command_follows_from_the_verdict():
    assert compare(make_runs(THREE)).next_command == (
        "pgso train toy --operator mpgso --epochs 4 --save model"
    )
    stronger = compare(make_runs(THREE), reference([0.97, 0.98, 0.96, 0.97])).next_command
    assert stronger == (
        "pgso train toy --operator fixed --layers 6 --norm batch --residual --epochs 4 --save model"
    )
    one = compare(make_runs({"fixed": [0.7], "pgso": [0.8]}))
    assert one.next_command == "pgso compare toy --epochs 4 --seeds 10"
    own = make_runs(THREE, choices={"conv": "MyModel"})
    assert compare(own).next_command == 'model = pgso.convert(model, operator="mpgso")'
    memory = make_runs(THREE, choices={"dataset": IN_MEMORY})
    assert compare(memory).next_command == ""


@pytest.mark.parametrize(
    ("choices", "reason"),
    [
        ({"num_layers": 1}, "mPGSO was not run: the network has one layer"),
        ({"task": "link"}, "found was not run: pgso find has no answer for links"),
        ({"terms": ("self", "gcn")}, "found was not run: the terms were given"),
        ({"residual": True}, "no stronger fixed network was run: this one is as strong already"),
        ({}, "no stronger fixed network was run: it was not asked for"),
    ],
)
def test_every_model_that_was_not_run_is_named_with_the_reason(choices, reason):
    runs = make_runs({"fixed": [0.5, 0.6], "pgso": [0.6, 0.8]}, choices=choices)
    assert any(note.startswith(reason) for note in compare(runs).notes)
    nothing = [*runs, make_record("found", 0, 0.7, choices=choices)]
    assert any("no answer for such labels" in note for note in compare(nothing).notes)
    assert "found" not in compare(nothing).operators
