"""How numbers, operators and commands are written."""

from pgso.records import RunSpec
from pgso.report.words import command_of, places, signed


def test_a_difference_has_its_sign_and_zero_none_of_its_own():
    assert [signed(value) for value in (16.23, -0.01, -2.5)] == ["+16.2", "+0.0", "-2.5"]


def test_operators_are_named_by_their_layer_or_term():
    assert places(None, 2) == ["layer 1", "layer 2"]
    assert places(("self", "gcn@in", "gcn@out"), 2) == ["gcn@in", "gcn@out"]


def test_a_command_names_what_the_dataset_does_not_suggest():
    spec = RunSpec(dataset="karate", num_layers=3, terms=("self", "gcn"), lr=0.1)
    words = "pgso compare karate --terms self,gcn --layers 3 --lr 0.1"
    assert command_of("compare", spec) == words
