"""What was asked for comes before what suits the dataset, which comes before the defaults."""

import pytest

from pgso.cli.choices import make_spec, pairs
from pgso.errors import InputError
from pgso.records import RunSpec


def test_a_datasets_own_model_is_the_default_and_the_user_has_the_last_word():
    suited = make_spec("minesweeper")
    assert suited == RunSpec(dataset="Minesweeper")  # the same words, the same run
    assert make_spec("texas", None, ["normalise=true"]) == RunSpec(
        dataset="texas", data_options={"normalise": True}
    )
    assert make_spec("minesweeper", ["num_layers=5"], num_layers=4).num_layers == 5
    assert make_spec("minesweeper", num_layers=4).num_layers == 4
    assert make_spec("minesweeper", num_layers=None).num_layers == suited.num_layers


def test_values_are_read_as_json_where_they_can_be():
    assert pairs(["a=1", "b=x", "c=[1,2]", "d=null", "e=k=v"]) == {
        "a": 1,
        "b": "x",
        "c": [1, 2],
        "d": None,
        "e": "k=v",
    }


def test_how_records_are_read_is_no_choice():
    with pytest.raises(InputError, match="'complete'"):
        make_spec("karate", ["complete=true"])


def test_the_stronger_network_has_the_architecture_s_own_operator():
    assert make_spec("karate", ["preset=laplacian"]).stronger.preset is None
