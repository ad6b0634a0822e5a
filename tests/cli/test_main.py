"""Help, exit codes and errors, the same for every command."""

from importlib import import_module

import pytest
from typer.main import get_command

import pgso as package
from pgso.cli.main import app

COMMANDS = sorted(get_command(app).commands)


def test_the_bare_command_shows_the_help(pgso):
    shown = pgso()
    assert shown.exit_code == 0
    assert all(name in shown.stdout for name in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(pgso, command):
    shown = pgso(command, "--help")
    assert shown.exit_code == 0
    assert "Examples:" in shown.stdout
    assert f"pgso {command}" in shown.stdout.partition("Examples:")[2]


@pytest.mark.parametrize("command", ["compare", "doctor", "list", "spectrum", "sweep", "train"])
def test_what_a_script_would_want_comes_as_json(command):
    options = [option for p in get_command(app).commands[command].params for option in p.opts]
    assert "--json" in options


def test_the_version_is_the_packages(pgso):
    assert pgso("--version").stdout.strip() == package.__version__


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["compaer"], "Did you mean 'compare'?"),
        (["compare"], "Missing argument 'DATASET'; see pgso compare --help"),
        (["compare", "karte"], "Did you mean 'karate'?"),
        (["compare", "karate", "--seeds", "0"], "'--seeds'"),
        (["compare", "karate", "--conv", "gnc"], "Did you mean 'gcn'?"),
        (["compare", "karate", "--preset", "gnc"], "Did you mean 'gcn'?"),
        (["compare", "karate", "--recipe", "mine"], "recipe cannot be 'mine'"),
        (["compare", "karate", "--set", "seed=4"], "seed here: --seeds says how many"),
        (["compare", "karate", "--set", "operator=pgso"], "operator here: all three are compared"),
        (["compare", "karate", "--address", "auto"], "choose engine ray"),
        (["compare", "karate", "--engine", "steam"], "'steam' is not one of 'local', 'ray'"),
        (["compare", "karate", "--set", "norm"], "not of the form NAME=VALUE"),
        (["compare", "karate", "--set", "colour=red"], "a run has no choice called 'colour'"),
        (["compare", "karate", "--option", "rows=3"], "has no option 'rows'"),
        (["train", "karate", "--operator", "best"], "operator cannot be 'best'"),
        (["train", "karate", "--no-such-option"], "No such option: --no-such-option"),
        (["predict", "nothing.safetensors", "karate"], "nothing.safetensors"),
        (["run", "initialisation"], "Did you mean 'initialisations'?"),
        (["report", "initialisations"], "first: pgso run initialisations"),
        (["list", "preset"], "Did you mean 'presets'?"),
        (["spectrum", "karate", "--preset", "gnc"], "Did you mean 'gcn'?"),
        (["sweep", "karate", "--space", "epochs=3"], "--space epochs takes a list"),
        (["sweep", "karate", "--search", "random"], "choose grid or tpe"),
        (["sweep", "karte"], "Did you mean 'karate'?"),
    ],
    ids=" ".join,
)
def test_wrong_arguments_are_one_sentence_on_stderr_and_exit_code_2(pgso, arguments, sentence):
    result = pgso(*arguments)
    assert result.exit_code == 2, result.output
    assert sentence in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert result.stderr.startswith("error: ")
    assert result.stdout == ""


def test_a_place_that_cannot_be_written_is_named(pgso, tmp_path):
    (tmp_path / "file").write_text("")
    result = pgso("train", "karate", "--epochs", 1, "--out", tmp_path / "file")
    assert result.exit_code == 2
    assert str(tmp_path / "file") in result.stderr


def test_no_colour_where_none_is_wanted(pgso):
    assert "\x1b[" in pgso("--help", FORCE_COLOR="1").stdout
    assert "\x1b[3" not in pgso("--help", FORCE_COLOR="1", NO_COLOR="1").stdout
    assert "\x1b" not in pgso("list", "presets").stdout


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("pgso comp", {"compare"}),
        ("pgso compare x --preset sym", {"symmetric_laplacian"}),
        ("pgso list pre", {"presets"}),
        ("pgso compare PTC", {"PTC_MR"}),
        ("pgso compare ptc", {"ptc_mr"}),
        ("pgso train my_gr", {"my_graph/"}),
        ("pgso run sbm", {"sbm_sparsity"}),
    ],
)
def test_the_shell_completes_names(pgso, tmp_path, monkeypatch, typed, offered):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_graph").mkdir()
    shown = pgso(
        _PGSO_COMPLETE="complete_bash",
        COMP_WORDS=typed,
        COMP_CWORD=str(len(typed.split()) - 1),
    )
    assert set(shown.stdout.split()) == offered


def test_an_interrupt_is_one_sentence_too(pgso, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("pgso.training.fit.fit", interrupted)
    shown = pgso("train", "karate", "--epochs", 2)
    assert shown.exit_code == 130
    assert shown.stderr == "error: stopped; the same command keeps what is done and goes on\n"


def test_the_command_keeps_the_memory_it_frees(monkeypatch):
    called = []
    for name in ("keep_freed_memory", "app"):
        monkeypatch.setattr(f"pgso.cli.main.{name}", lambda name=name: called.append(name))
    import_module("pgso.cli.main").run()
    assert called == ["keep_freed_memory", "app"]
