"""Errors a user can act on."""

import copy
import pickle

import pytest

from pgso.errors import InputError, PGSOError, UnknownNameError


def test_bad_input_is_a_value_error_and_one_of_ours():
    assert issubclass(InputError, ValueError)
    assert issubclass(InputError, PGSOError)
    assert issubclass(UnknownNameError, InputError)
    assert issubclass(UnknownNameError, KeyError)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "lapacian",
            "no preset is called 'lapacian'. Did you mean 'laplacian'? Known: gcn, laplacian",
        ),
        ("GCN", "no preset is called 'GCN'. Did you mean 'gcn'? Known: gcn, laplacian"),
        ("xyz", "no preset is called 'xyz'. Known: gcn, laplacian"),
        (None, "no preset is called None. Known: gcn, laplacian"),
    ],
)
def test_an_unknown_name_says_what_was_meant(name, message):
    assert str(UnknownNameError("preset", name, ["laplacian", "gcn"])) == message


@pytest.mark.parametrize("send", [copy.copy, lambda error: pickle.loads(pickle.dumps(error))])
@pytest.mark.parametrize(
    "error", [InputError("give a name"), UnknownNameError("preset", "gnc", ["laplacian", "gcn"])]
)
def test_an_error_arrives_whole_from_another_process(error, send):
    arrived = send(error)
    assert type(arrived) is type(error)
    assert str(arrived) == str(error)
