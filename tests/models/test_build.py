"""Networks of specs."""

import pytest

import pgso
from pgso.errors import InputError
from pgso.models.build import build_model

TASK = pgso.load_task("karate")


def test_a_bank_has_the_terms_of_its_spec():
    S = "0,1,0.5,0,-0.4,-0.3,0.9"
    spec = pgso.RunSpec(dataset="karate", conv="bank", terms=("self", "mean", f"{S}@out"))
    model = build_model(spec, TASK)
    mean, learned = model.operators
    assert mean.parameters_tuple() == pgso.PRESETS["mean"]
    assert learned.parameters_tuple() == pytest.approx([float(value) for value in S.split(",")])
    assert (mean.edges, learned.edges) == (None, "out")


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"conv": "gcn", "terms": ("self",)}, "terms are for conv bank, not for gcn"),
        ({"conv": "bank", "terms": ("0,1,x",)}, "seven numbers with commas, got '0,1,x'"),
        ({"conv": "bank", "terms": ("0,1,2",)}, "seven"),
    ],
)
def test_terms_that_cannot_be_are_refused(choices, words):
    with pytest.raises(InputError, match=words) as caught:
        build_model(pgso.RunSpec(dataset="karate", **choices), TASK)
    assert "\n" not in str(caught.value)
