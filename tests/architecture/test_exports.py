"""The public names: those that are promised exist, and those that exist have a home."""

import inspect

import pytest

import pgso

# What docs/api promises, as far as the operator and its theory go.
PROMISED = {"Graph", "PGSO", "PGSOParameters", "PRESETS", "apply_pgso", "dense_pgso", "spectrum"}


def test_what_the_design_promises_is_exported():
    assert set(pgso.__all__) >= PROMISED
    assert set(pgso.spectrum.__all__) >= {"gershgorin_interval", "symmetrised", "symmetriser"}


@pytest.mark.parametrize("name", pgso.__all__)
def test_every_exported_name_resolves_and_is_documented(name):
    value = getattr(pgso, name)
    assert name in dir(pgso)
    if inspect.isclass(value) or inspect.isfunction(value) or inspect.ismodule(value):
        assert inspect.getdoc(value)


@pytest.mark.parametrize("name", pgso.spectrum.__all__)
def test_every_name_of_the_theory_resolves_and_is_documented(name):
    assert inspect.getdoc(getattr(pgso.spectrum, name))


def test_another_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'gso_of_tomorrow'"):
        pgso.gso_of_tomorrow  # noqa: B018


@pytest.mark.parametrize(
    "promise",
    [
        "from_edge_index from_data from_scipy from_networkx from_dense from_torch_sparse",
        "num_nodes num_edges degree is_undirected to",
    ],
)
def test_the_graph_keeps_the_names_of_the_design(promise):
    fields = set(dir(pgso.Graph)) | set(pgso.Graph.__dataclass_fields__)
    assert set(promise.split()) <= fields


def test_the_operator_keeps_the_names_of_the_design():
    promised = "shape device is_symmetric is_certifiable diagonal entries plot T"
    written = "to_dense to_torch_sparse to_scipy to_linear_operator"
    op = pgso.shift(pgso.load_task("karate").graph, "gcn")
    assert {*promised.split(), *written.split()} <= set(dir(op))


def test_the_signatures_are_those_of_the_design():
    def names(function):
        return [name for name in inspect.signature(function).parameters if name != "self"]

    assert names(pgso.Graph.from_edge_index) == ["edge_index", "edge_weight", "num_nodes"]
    assert names(pgso.apply_pgso)[:3] == ["x", "graph", "S"]
    assert names(pgso.dense_pgso) == ["adjacency", "S"]
    assert names(pgso.PGSO) == ["S", "learn", "shape", "degrees", "edges"]
    assert names(pgso.PGSO.forward) == ["x", "graph", "edge_weight"]
    assert names(pgso.PGSO.to_torch_sparse)[0] == "graph"
    assert names(pgso.PGSO.on)[:2] == ["graph", "edge_weight"]
    assert names(pgso.shift)[:2] == ["graph", "S"]
    assert names(pgso.polynomial)[:3] == ["op", "coefficients", "basis"]
    assert names(pgso.spectrum.gershgorin_interval)[:2] == ["graph", "S"]
    assert names(pgso.spectrum.symmetrised)[:2] == ["graph", "S"]
