"""Progress: a bar on a terminal, lines elsewhere."""

import io

import pytest
from rich.console import Console

from pgso.cli import terminal as module
from pgso.cli.terminal import progress


def told(terminal, monkeypatch, seconds_each):
    clock = iter(range(0, 10_000, seconds_each))
    monkeypatch.setattr(module.time, "monotonic", lambda: float(next(clock)))
    text = io.StringIO()
    with progress(Console(file=text, force_terminal=terminal, width=100), "work", 3) as advance:
        for name in ("one", "two", "three"):
            advance(name)
    return text.getvalue()


def test_where_there_is_no_terminal_there_are_plain_lines(monkeypatch):
    lines = told(False, monkeypatch, seconds_each=20).splitlines()
    assert lines == [
        "work: 1/3 runs, about 40 s left (one)",
        "work: 2/3 runs, about 20 s left (two)",
        "work: 3/3 runs, about 0 s left (three)",
    ]


def test_quick_work_is_one_line_at_the_end(monkeypatch):
    assert told(False, monkeypatch, seconds_each=1).splitlines() == [
        "work: 3/3 runs, about 0 s left (three)"
    ]


def test_a_terminal_gets_a_bar():
    text = io.StringIO()
    with progress(Console(file=text, force_terminal=True, width=100), "work", 2) as advance:
        advance("one")
        advance("two")
    assert "\x1b" in text.getvalue()


@pytest.mark.parametrize("terminal", [True, False])
def test_nothing_to_do_is_nothing_to_tell(terminal):
    text = io.StringIO()
    with progress(Console(file=text, force_terminal=terminal), "work", 0):
        pass
    assert "runs" not in text.getvalue()
