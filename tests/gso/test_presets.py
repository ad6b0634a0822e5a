"""The names of known operators; what they mean is in tests/paper/test_table_1.py."""

import pytest

from pgso import PRESETS, PGSOParameters
from pgso.errors import UnknownNameError


def test_a_name_and_its_values_are_the_same_S():
    assert (
        PGSOParameters.of("gcn")
        == PGSOParameters.of(PRESETS["gcn"])
        == PGSOParameters.of([0, 1, 0, 0, -0.5, -0.5, 1])
    )
    assert isinstance(PGSOParameters.of([0] * 7), PGSOParameters)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("laplacien", "laplacian"), ("GCN", "gcn"), ("random_walk", "random_walk_laplacian")],
)
def test_a_spelling_mistake_gets_a_suggestion(wrong, right):
    with pytest.raises(UnknownNameError, match=f"Did you mean '{right}'"):
        PGSOParameters.of(wrong)


def test_presets_cannot_be_changed():
    with pytest.raises(TypeError):
        PRESETS["gcn"] = PRESETS["gin"]
    with pytest.raises(AttributeError):
        PRESETS["gcn"].a = 2
