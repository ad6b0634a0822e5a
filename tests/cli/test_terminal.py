"""Names cannot reach the terminal as commands; errors are one short line, or a bug with a file."""

import io
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from rich.table import Table

from pgso.cli import listing, main
from pgso.cli.terminal import Console, visible

ESCAPES = ["\x1b[31m", "\x07", "\r", "\x9b31m", "\u202e", "\x1b]0;title\x07", "\udcff", "\x08"]


@pytest.mark.parametrize("escape", ESCAPES, ids=ascii)
def test_escapes_are_shown_and_not_sent(escape):
    shown = io.StringIO()
    console = Console(file=shown, markup=False, width=200, force_terminal=True, highlight=False)
    table = Table("x", title=f"a{escape}b")
    table.add_row(f"a{escape}b")
    for printed in (f"a{escape}b", table):
        console.print(printed)
    assert f"a{escape}b" not in shown.getvalue()
    assert shown.getvalue().count(f"a{visible(escape)}b") == 3


@pytest.mark.parametrize("escape", ESCAPES[:3], ids=ascii)
@pytest.mark.parametrize(
    "command", [["train"], ["compare"], ["spectrum"], ["predict", "m.safetensors"]]
)
def test_no_command_sends_the_escapes_of_a_name(pgso, command, escape):
    result = pgso(*command, f"./no{escape}thing")
    assert result.exit_code == 2
    assert f"no{escape}thing" not in result.output
    assert len(result.stderr.splitlines()) == 1


def test_a_long_message_is_cut(pgso):
    result = pgso("train", "x" * 100_000)
    assert result.exit_code == 2
    assert len(result.stderr) < 1_100


def test_a_bug_is_one_sentence_with_its_trace_in_a_file(pgso, tmp_path, monkeypatch):
    def broken(what):
        raise KeyError("surprise")

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(listing, "listed", broken)
    result = pgso("list", "presets")
    assert result.exit_code == main.BUG
    assert re.fullmatch(r"error: this is a bug of pgso \(KeyError: 'surprise'\).*\n", result.stderr)
    trace = Path(re.search(r"/\S+/pgso-bug-\S+\.txt", result.stderr)[0]).read_text()
    assert "in broken" in trace


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (MemoryError(), "memory of this machine"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: 8 bytes"), "memory of this"),
        (RecursionError(), "nested too deeply"),
        (UnicodeEncodeError("utf-8", "a", 0, 1, "surrogates"), "not UTF-8"),
        (OSError(28, "No space left on device", "/full/file"), "device: /full/file"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_a_machine_may_cause_is_a_sentence(pgso, monkeypatch, error, sentence):
    def fails(what):
        raise error

    monkeypatch.setattr(listing, "listed", fails)
    result = pgso("list", "presets")
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_ctrl_c_while_importing_is_one_line():
    # numpy stands for the module that is imported first: the signal comes in the middle of it.
    code = (
        "import builtins, os, signal\n"
        "from pgso.__main__ import main\n"
        "real = builtins.__import__\n"
        "def slow(name, *rest):\n"
        "    if name == 'typer': os.kill(os.getpid(), signal.SIGINT)\n"
        "    return real(name, *rest)\n"
        "builtins.__import__ = slow\n"
        "main()\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.returncode == 130
    assert ended.stderr == "error: stopped before anything was done\n"
    assert signal.getsignal(signal.SIGINT) is not None


def test_a_command_leaves_nothing_behind(tmp_path):
    program = (
        "import atexit, sys; from pgso.__main__ import main; sys.argv[0] = 'pgso'\n"
        "atexit.register(lambda: open('undone', 'w').close())\n"
        "class Late:\n"
        "    def __del__(self): open('taken apart', 'w').close()\n"
        "late = Late(); main()"
    )
    command = [sys.executable, "-c", program, "find", "karate", "--json"]
    shown = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert shown.returncode == 0, shown.stderr
    assert json.loads(shown.stdout)["dataset"] == "karate"  # to its last letter
    assert (tmp_path / "undone").exists()
    assert not (tmp_path / "taken apart").exists()
    assert not list(tmp_path.rglob("*.tmp*"))


def test_a_folder_whose_name_is_not_utf_8_is_refused_at_once(pgso, tmp_path):
    folder = os.fsdecode(bytes(tmp_path) + b"/caf\xe9")
    os.mkdir(folder)
    for command in ("train", "compare"):
        result = pgso(command, folder, "--epochs", 1)
        assert result.exit_code == 2
        assert "is not UTF-8; rename the folder" in result.stderr


def test_arguments_beyond_all_measure_are_one_sentence(pgso):
    for arguments in (
        ("--set", f"seed={10**30}"),
        ("--set", "hidden_channels=100000000"),
        ("--set", "num_layers=10000000"),
        ("--set", "heads=10000000"),
        ("--set", "norm=" + "[" * 100_000),
        ("--set", "lr=" + "9" * 10_000),
    ):
        result = pgso("train", "karate", *arguments, "--epochs", 1)
        assert result.exit_code == 2, result.output
        assert len(result.stderr.splitlines()) == 1
    for dataset, option, allowed in (
        ("minesweeper", "rows=1000000000", "at most"),
        ("sbm", "communities=1000000000", "from 2 to 10,000"),
    ):
        result = pgso("train", dataset, "--option", option, "--epochs", 1)
        assert result.exit_code == 2
        assert allowed in result.stderr


@pytest.mark.parametrize("command", [["spectrum", "karate"], ["run", "convergence", "--quick"]])
def test_a_place_that_cannot_be_written_is_refused_before_the_work(pgso, tmp_path, command):
    (tmp_path / "file").write_text("")
    result = pgso(*command, "--out", tmp_path / "file")
    assert result.exit_code == 2
    assert "--out must name a folder" in result.stderr


@pytest.mark.parametrize(
    ("words", "imports"),
    [
        (["list", "presets"], "sys, torch"),  # a process with torch ends otherwise
        (["list", "presets", "--json"], "sys"),
        (["compare", "--help"], "sys"),
    ],
)
def test_a_reader_who_has_seen_enough_is_no_error(words, imports):
    program = f"import {imports}; from pgso.__main__ import main; sys.argv[0] = 'pgso'; main()"
    reader, writer = os.pipe()
    os.close(reader)  # nobody reads a single letter
    with open(writer, "wb") as gone:
        command = [sys.executable, "-c", program, *words]
        done = subprocess.run(command, stdout=gone, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (0, "")
