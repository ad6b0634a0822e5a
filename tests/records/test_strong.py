"""Strong networks: settings as published, and a deeper residual network elsewhere."""

import pytest

from pgso.data import DATASETS
from pgso.records import RunSpec
from pgso.records.suggestions import STRONG, deeper, strong


def test_minesweepers_network_is_as_published():
    spec = RunSpec(dataset="minesweeper-public", recipe="strong")
    assert (spec.num_layers, spec.hidden_channels, spec.norm, spec.residual) == (
        12,
        64,
        "batch",
        True,
    )
    assert (spec.dropout, spec.lr, spec.weight_decay, spec.lr_decay) == (0.2, 0.01, 0.0, 1.0)
    assert spec.epochs == 2000


def test_elsewhere_it_is_twice_as_deep_with_residual_maps_and_a_norm():
    spec = RunSpec(dataset="karate", recipe="strong")
    assert spec.model_dump(include={"num_layers", "norm", "residual"}) == deeper(2, None)
    assert deeper(3, "layer") == {"num_layers": 6, "norm": "layer", "residual": True}
    assert deeper(20, None)["num_layers"] == 20  # never shallower


@pytest.mark.parametrize("name", STRONG)
def test_every_published_setting_is_of_a_known_dataset_and_makes_a_spec(name):
    assert name in DATASETS
    spec = RunSpec(dataset=name, recipe="strong")
    assert {key: getattr(spec, key) for key in STRONG[name]} == STRONG[name]


def test_what_the_user_says_comes_first():
    spec = RunSpec(dataset="minesweeper", recipe="strong", epochs=30, num_layers=5)
    assert (spec.epochs, spec.num_layers, spec.residual) == (30, 5, True)
    assert spec.but(recipe="paper").residual is False


def test_settings_are_handed_out_as_copies():
    strong("cora", {})["lr"] = 7.0
    assert STRONG["cora"]["lr"] != 7.0


def test_a_stronger_network_has_more_structure_and_a_fixed_operator():
    spec = RunSpec(dataset="minesweeper", operator="mpgso", epochs=100, seed=2)
    stronger = spec.stronger
    assert stronger.operator == "fixed"
    assert (stronger.num_layers, stronger.residual, stronger.dropout) == (6, True, 0.2)
    assert (stronger.epochs, stronger.hidden_channels, stronger.seed) == (100, 64, 2)
    assert stronger.stronger is None
    assert RunSpec(dataset="karate", recipe="strong").stronger is None
    assert RunSpec(dataset="karate", conv="sgc").stronger.conv == "gcn"
    bank = RunSpec(dataset="karate", terms=("self", "gcn")).stronger
    assert (bank.terms, bank.residual, bank.num_layers) == (("self", "gcn"), False, 4)
