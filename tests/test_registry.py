"""Things found by name."""

import pytest

from pgso.errors import UnknownNameError
from pgso.registry import Registry


@pytest.fixture
def colours():
    return Registry("colour", {"red": 1, "green": 2})


def test_it_is_a_mapping_in_the_order_of_registration(colours):
    colours.register("blue")(3)
    assert dict(colours) == {"red": 1, "green": 2, "blue": 3}
    assert list(colours) == ["red", "green", "blue"]
    assert len(colours) == 3
    assert "red" in colours
    assert "rot" not in colours
    assert colours.get("rot") is None


def test_registering_returns_what_was_registered(colours):
    @colours.register("black")
    def black():
        return 0

    assert colours["black"] is black
    assert black() == 0


def test_a_name_is_registered_once(colours):
    with pytest.raises(AssertionError, match="colour 'red' is registered twice"):
        colours.register("red")(9)


@pytest.mark.parametrize("name", ["rad", 7, None, ["red"]])
def test_an_unknown_name_lists_what_is_known(colours, name):
    with pytest.raises(UnknownNameError, match="Known: green, red"):
        colours[name]


def test_it_does_not_change_the_mapping_it_was_made_from():
    entries = {"red": 1}
    Registry("colour", entries).register("blue")(2)
    assert entries == {"red": 1}


def test_repr_names_the_entries(colours):
    assert repr(colours) == "Registry(colour: red, green)"
