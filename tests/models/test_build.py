"""The network of a spec has what the spec says."""

import pytest

from pgso import RunSpec, load_task
from pgso.convs.bank import BankConv
from pgso.convs.filter import FilterConv
from pgso.errors import InputError
from pgso.models.build import build_model


@pytest.fixture(scope="module")
def karate():
    return load_task("karate")


@pytest.mark.parametrize(("operator", "count"), [("fixed", 2), ("pgso", 2), ("mpgso", 4)])
def test_a_bank_has_the_terms_of_its_spec(karate, operator, count):
    spec = RunSpec(dataset="karate", terms=("self", "gcn@in", "quarter@out"), operator=operator)
    model = build_model(spec, karate)
    for layer in model.layers:
        assert isinstance(layer.conv, BankConv)
        assert layer.conv.terms == spec.terms
    assert len(model.operators) == count
    assert model.operators[1].start.e2 == -0.25


def test_a_filter_has_the_basis_and_the_degree_of_its_spec(karate):
    model = build_model(RunSpec(dataset="karate", basis="jacobi", degree=4), karate)
    for layer in model.layers:
        assert isinstance(layer.conv, FilterConv)
        assert (layer.conv.basis, layer.conv.K) == ("jacobi", 4)
    plain = build_model(RunSpec(dataset="karate", conv="filter"), karate)
    assert (plain.layers[0].conv.basis, plain.layers[0].conv.K) == ("monomial", 10)


def test_terms_that_cannot_be_read_are_refused(karate):
    with pytest.raises(InputError, match="no preset is called 'gnc'"):
        build_model(RunSpec(dataset="karate", terms=("self", "gnc")), karate)
