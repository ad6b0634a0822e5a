import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pgso.errors import InputError
from pgso.records import RunRecord, RunSpec

DEFAULTS = RunSpec(dataset="karate").model_dump()


def choices() -> st.SearchStrategy[dict]:
    numbers = st.sampled_from([0, 0.0, -0.0, 1, 1.0, True, 0.5, 7])
    return st.fixed_dictionaries(
        {"dataset": st.sampled_from(["karate", "sbm"])},
        optional={
            "seed": st.integers(0, 3),
            "operator": st.sampled_from(["fixed", "pgso"]),
            "dropout": st.sampled_from([0, 0.0, -0.0, 0.5]),
            "preset": st.sampled_from([None, "gcn", (0, 1, 0, 0, 0, 0, 0), [0.0, 1.0, *[0.0] * 5]]),
            "learn": st.sampled_from([True, ("m1", "a"), ["m1", "a"]]),
            "data_options": st.dictionaries(st.sampled_from("pq"), numbers, max_size=2),
        },
    )


@given(choices(), choices())
@example(
    {"dataset": "sbm", "data_options": {"p": 1}}, {"dataset": "sbm", "data_options": {"p": 1.0}}
)
@example({"dataset": "sbm", "dropout": 0.0}, {"dataset": "sbm", "dropout": -0.0})
def test_specs_are_equal_exactly_if_their_keys_are(left, right):
    left, right = RunSpec(**left), RunSpec(**right)
    assert (left == right) == (left.key == right.key)


@given(choices(), st.sets(st.sampled_from(sorted(DEFAULTS))))
def test_defaults_may_be_spelled_out(chosen, names):
    spelled = {name: DEFAULTS[name] for name in names} | chosen
    assert RunSpec(**spelled).key == RunSpec(**chosen).key


@given(choices())
def test_a_spec_survives_json(chosen):
    spec = RunSpec(**chosen)
    again = RunSpec.model_validate_json(spec.model_dump_json())
    assert again == spec
    assert again.key == spec.key


def test_the_order_of_options_does_not_matter():
    one = RunSpec(dataset="sbm", data_options={"p": 0.5, "q": 0.1})
    other = RunSpec(dataset="sbm", data_options={"q": 0.1, "p": 0.5})
    assert one.key == other.key


def test_a_key_is_the_same_in_every_process():
    program = "from pgso.records import RunSpec; print(RunSpec(dataset='sbm', seed=3).key)"
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == RunSpec(dataset="sbm", seed=3).key


def test_but_changes_a_choice_and_checks_it():
    spec = RunSpec(dataset="karate", data_options={}, seed=1)
    assert spec.but(seed=2) == RunSpec(dataset="karate", seed=2)
    assert spec.seed == 1
    with pytest.raises(InputError, match="seed cannot be -1"):
        spec.but(seed=-1)


def test_a_spec_cannot_be_changed():
    with pytest.raises(ValueError, match="frozen"):
        RunSpec(dataset="karate").seed = 3


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({}, "a run needs dataset"),
        ({"dataset": "karate", "layers": 3}, "no choice called 'layers'; known: dataset, "),
        ({"dataset": "karate", "dropout": 1.0}, "dropout cannot be 1.0"),
        ({"dataset": "karate", "operator": "pogso"}, "operator cannot be 'pogso'"),
        ({"dataset": "karate", "lr": float("nan")}, "lr cannot be nan"),
        ({"dataset": "karate", "weight_decay": float("inf")}, "weight_decay cannot be inf"),
        (
            {"dataset": "karate", "preset": (1, 2, 3)},
            r"preset cannot be \(1, 2, 3\).*seven numbers",
        ),
        ({"dataset": "karate", "epochs": 0}, "epochs cannot be 0"),
    ],
)
def test_a_wrong_choice_is_named_in_one_sentence(wrong, sentence):
    with pytest.raises(InputError, match=sentence) as error:
        RunSpec(**wrong)
    assert "\n" not in str(error.value)


def test_another_recipe_brings_its_own_choices():
    spec = RunSpec(dataset="karate", epochs=7)
    assert spec.but(recipe="robust") == RunSpec(dataset="karate", epochs=7, recipe="robust")
    assert spec.but(recipe="robust").but(recipe="paper") == spec
    own = RunSpec(dataset="karate", s_rate=0.1, s_decay="start").but(recipe="robust")
    assert (own.s_decay, own.s_loss, own.s_rate) == ("start", "held_out", 0.1)


def test_sampling_brings_its_own_batch_size_unless_there_was_a_choice():
    spec = RunSpec(dataset="karate")
    assert spec.but(sample=(5, 5)).batch_size == 1024
    assert spec.but(sample=(5, 5)).but(sample=None) == spec
    assert spec.but(batch_size=64).but(sample=(5, 5)).batch_size == 64


def test_a_path_is_a_dataset_too(tmp_path):
    assert RunSpec(dataset=tmp_path) == RunSpec(dataset=str(tmp_path))


def test_a_dataset_s_suggestions_are_part_of_the_spec_unless_something_else_is_said():
    spec = RunSpec(dataset="Minesweeper")
    assert (spec.dataset, spec.num_layers, spec.norm) == ("minesweeper", 3, "batch")
    spelled = RunSpec(dataset="minesweeper", num_layers=3, norm="batch", data_options={})
    assert spec == spelled
    assert spec.key == spelled.key
    assert RunSpec(dataset="minesweeper", norm=None).norm is None
    assert RunSpec(dataset="texas", data_options={"normalise": True}).data_options == {
        "undirected": True,
        "normalise": True,
    }
    assert RunSpec(dataset="Texas", data_options={"undirected": False}).data_options == {
        "undirected": False
    }


def test_a_stored_spec_stands_as_it_was_written():
    written = {"dataset": "texas", "seed": 3}
    spec = RunSpec(complete=True, **written)
    assert (spec.dataset, spec.data_options) == ("texas", {})
    assert RunRecord.model_validate({"spec": written}).spec == spec
    assert spec.but(seed=4).data_options == {}


def test_another_dataset_brings_its_own_suggestions():
    spec = RunSpec(dataset="minesweeper").but(dataset="karate")
    assert (spec.num_layers, spec.norm) == (2, None)
    assert spec.but(dataset="minesweeper") == RunSpec(dataset="minesweeper")
    assert RunSpec(dataset="karate", num_layers=4).but(dataset="minesweeper").num_layers == 4


def test_an_unknown_objective_is_refused_and_a_known_one_is_called_by_its_name():
    with pytest.raises(InputError, match="no objective is called 'acurracy'"):
        RunSpec(dataset="karate", objective="acurracy")
    spec = RunSpec(dataset="karate", objective="Balanced Accuracy")
    assert spec.objective == "balanced_accuracy"


def test_choices_that_are_not_made_leave_old_keys_alone():
    assert RunSpec(dataset="karate").key == "63a9333a17951a4cc23d"
    assert (
        RunSpec(dataset="Cora", operator="mpgso", seed=3, norm="batch").key
        == "ff8652e366811cb012e4"
    )


def test_links_bring_what_suits_them_unless_something_else_is_said():
    spec = RunSpec(dataset="Cora", task="link")
    assert (spec.dropout, spec.weight_decay, spec.lr_decay) == (0.0, 0.0, 1.0)
    assert RunSpec(dataset="Cora", task="link", dropout=0.3).dropout == 0.3
    assert RunSpec(dataset="Cora").but(task="link") == spec
    assert spec.but(task=None) == RunSpec(dataset="Cora")


def test_new_choices_leave_the_keys_of_old_specs_alone():
    assert RunSpec(dataset="Cora", operator="mpgso", seed=3).key == "4eb3a4bd6ceb4426d3d5"
    assert RunSpec(dataset="Cora", terms=None, basis=None, degree=None) == RunSpec(dataset="Cora")


def test_terms_make_a_bank_and_a_basis_a_filter():
    assert RunSpec(dataset="Cora", terms=("self", "gcn")).conv == "bank"
    assert RunSpec(dataset="Cora", degree=3).conv == "filter"
    bank = RunSpec(dataset="Cora").but(terms=["self", "gcn"])
    assert bank == RunSpec(dataset="Cora", conv="bank", terms=("self", "gcn"))
    assert bank.but(terms=None) == RunSpec(dataset="Cora")
    with pytest.raises(InputError, match="terms is a choice of conv='bank', got conv='gcn'"):
        RunSpec(dataset="Cora", conv="gcn", terms=("self", "gcn"))
    with pytest.raises(InputError, match="basis is a choice of conv='filter', got conv='bank'"):
        RunSpec(dataset="Cora", conv="bank", basis="jacobi")
    with pytest.raises(InputError, match="basis cannot be 'fourier'"):
        RunSpec(dataset="Cora", basis="fourier")


def test_directed_terms_keep_the_direction_of_the_data():
    directed = RunSpec(dataset="Chameleon", terms=("self", "quarter@in", "quarter@out"))
    assert directed.data_options == {"undirected": False}
    assert RunSpec(dataset="Chameleon", terms=("self", "gcn")).data_options == {"undirected": True}
    assert RunSpec(dataset="Cora", terms=("gcn@in",)).data_options == {}
    spec = RunSpec(dataset="Chameleon", terms=("gcn@in",), data_options={"undirected": True})
    assert spec.data_options == {"undirected": True}
    arxiv = RunSpec(dataset="ogbn-arxiv").but(terms=("gcn@in", "gcn@out"))
    assert arxiv.data_options == {"undirected": False}


def test_a_closed_form_head_sees_the_directions_of_the_data():
    assert RunSpec(dataset="Texas").data_options == {"undirected": True}
    assert RunSpec(dataset="Texas", head="closed_form").data_options == {}


@pytest.mark.parametrize("name", ["seed", "task", "objective", "root", "preparation"])
def test_an_option_of_the_data_that_the_run_or_nobody_chooses_is_refused(name):
    with pytest.raises(InputError, match=f"{name} is no option of|has no option '{name}'"):
        RunSpec(dataset="karate", data_options={name: 3})
