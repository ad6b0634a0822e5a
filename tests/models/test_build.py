"""The network of a spec has what the spec says."""

import pytest

import pgso
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


def test_a_term_may_be_seven_numbers(karate):
    S = "0,1,0.5,0,-0.4,-0.3,0.9"
    spec = pgso.RunSpec(dataset="karate", conv="bank", terms=("self", "mean", f"{S}@out"))
    model = build_model(spec, karate)
    mean, learned = model.operators
    assert mean.parameters_tuple() == pgso.PRESETS["mean"]
    assert learned.parameters_tuple() == pytest.approx([float(value) for value in S.split(",")])
    assert (mean.edges, learned.edges) == (None, "out")


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"conv": "gcn", "terms": ("self",)}, "terms is a choice of conv='bank', got conv='gcn'"),
        ({"conv": "bank", "terms": ("0,1,x",)}, "seven numbers with commas, got '0,1,x'"),
        ({"conv": "bank", "terms": ("0,1,2",)}, "seven"),
    ],
)
def test_terms_that_cannot_be_are_refused(karate, choices, words):
    with pytest.raises(InputError, match=words) as caught:
        build_model(pgso.RunSpec(dataset="karate", **choices), karate)
    assert "\n" not in str(caught.value)
