"""A ``SpectralMonitor`` watches our own trainer as it watches anybody's loop."""

import pytest

import pgso
from pgso.spectrum import SpectralMonitor


def test_a_monitor_sees_the_intervals_that_the_run_records():
    monitor = SpectralMonitor()
    record = pgso.fit(
        pgso.RunSpec(dataset="karate", epochs=3),
        watch=lambda session: monitor.observe(session.model, session.task.graph),
    )
    assert len(monitor.history) == 3
    for seen, recorded in zip(monitor.history, record.curves["interval"], strict=True):
        (reading,) = seen.operators.values()
        assert (reading.low, reading.high) == pytest.approx(recorded[0])
