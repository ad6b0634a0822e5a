"""Runs on other matrices and with richer parameters."""

import pytest

from pgso import RunSpec, fit, load_task
from pgso.errors import InputError, UnknownNameError
from pgso.training.fit import on_base


def test_no_base_leaves_the_task_as_it_is():
    task = load_task("karate")
    assert on_base(task, None) is task


@pytest.mark.parametrize("base", ["ppr", "heat"])
def test_a_run_on_a_base_is_another_run(base):
    spec = RunSpec(dataset="karate", epochs=2, hidden_channels=8)
    record = fit(spec.but(base=base))
    assert record.status == "done"
    assert record.spec.key != spec.key
    assert record.curves["loss"] != fit(spec).curves["loss"]
    assert len(record.curves["interval"]) == 2


def test_an_unknown_base_is_refused():
    with pytest.raises(UnknownNameError, match="ppr"):
        fit(RunSpec(dataset="karate", epochs=1, base="pqr"))


@pytest.mark.parametrize("shape", ["node", "channel", "structural"])
def test_richer_parameters_train(shape):
    record = fit(RunSpec(dataset="karate", epochs=2, operator="mpgso", shape=shape))
    assert record.status == "done"
    assert len(record.curves["interval"]) == (2 if shape == "channel" else 0)


def test_a_radius_is_kept_by_every_channel_and_refused_for_nodes():
    spec = RunSpec(dataset="karate", epochs=2, operator="mpgso", max_radius=0.5, shape="channel")
    for low, high in fit(spec).curves["interval"][-1]:
        assert max(abs(low), abs(high)) <= 0.5
    with pytest.raises(InputError, match="one S for all nodes"):
        fit(spec.but(shape="node"))
