import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pgso.errors import InputError
from pgso.records import RunSpec

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
        ({"dataset": "karate", "preset": (1, 2, 3)}, "preset cannot be"),
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
    assert (own.s_decay, own.s_loss, own.s_rate) == ("start", "val", 0.1)


def test_sampling_brings_its_own_batch_size_unless_there_was_a_choice():
    spec = RunSpec(dataset="karate")
    assert spec.but(sample=(5, 5)).batch_size == 1024
    assert spec.but(sample=(5, 5)).but(sample=None) == spec
    assert spec.but(batch_size=64).but(sample=(5, 5)).batch_size == 64


def test_a_path_is_a_dataset_too(tmp_path):
    assert RunSpec(dataset=tmp_path) == RunSpec(dataset=str(tmp_path))
