"""Help, exit codes and errors, the same for every command."""

import os
import subprocess
import sys

import pytest

import pgso as package
from pgso.bases import BASES
from pgso.cli.main import COMMANDS, as_typed, loaded_commands
from pgso.records import RunSpec, Store

LOADED = loaded_commands()
WITHOUT = ("record", "save", "tensorboard", "only", "results", "out", "max_radius", "sample")  # off


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


def test_the_help_names_every_base():
    assert all(name in RunSpec.model_fields["base"].description for name in BASES)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_flag_is_shown_as_a_flag_and_a_default_is_shown(pgso, command):
    shown = pgso(command, "--help").stdout
    assert shown.count("<bool>") == 1  # of --help itself, which is typer's
    for parameter in LOADED[command].params:
        takes_a_value = parameter.param_type_name == "option" and not parameter.is_flag
        optional = takes_a_value and not parameter.multiple and parameter.name not in WITHOUT
        if optional and parameter.default is None:
            assert isinstance(parameter.show_default, str), parameter.name


def test_a_command_is_imported_when_it_is_called():
    code = """
from typer.main import get_group
from pgso.cli.main import app
group = get_group(app)
assert not any(command.params for command in group.commands.values())
typed = ["doctor", "--json"]
_, command, rest = group.resolve_command(group.make_context("pgso", typed), typed)
assert command is group.commands["doctor"] and command.params
assert rest == ["--json"]
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("command", ["compare", "doctor", "list", "spectrum", "train"])
def test_what_a_script_would_want_comes_as_json(command):
    options = [option for p in LOADED[command].params for option in p.opts]
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
        (["compare", "karate", "--preset", "0,1,0"], "seven numbers m1,m2,m3,e1,e2,e3,a"),
        (["train", "karate", "--preset", "0,1,0,0,x,0,0"], "seven numbers"),
        (["compare", "karate", "--base", "ppd"], "Did you mean 'ppr'?"),
        (["train", "karate", "--base", "ppd"], "Did you mean 'ppr'?"),
        (["compare", "karate", "--recipe", "mine"], "recipe cannot be 'mine'"),
        (["compare", "karate", "--set", "seed=4"], "seed here: --seeds says how many"),
        (
            ["compare", "karate", "--set", "operator=pgso"],
            "here: all of them are compared",
        ),
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
        (["find", "karate", "--option", "x=1"], "karate has no option 'x'"),
        (["spectrum"], "name a dataset or a file, for example: pgso spectrum karate"),
        (["compare", "karate", "--engine", "slurm"], "is not one of 'local', 'ray'"),
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
        ("pgso compare x --engine r", {"ray"}),
        ("pgso train x --conv g", set()),
    ],
)
def test_the_shell_completes_commands(pgso, typed, offered):
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


def test_what_was_typed_can_be_typed_again_on_windows(monkeypatch):
    words = ["pgso", "compare", r"C:\my data\graph"]
    monkeypatch.setattr("os.name", "nt")
    assert as_typed(words) == r'pgso compare "C:\my data\graph"'
    monkeypatch.undo()
    assert as_typed(words) == r"pgso compare 'C:\my data\graph'"


def test_seven_numbers_are_a_preset(pgso, tmp_path):
    S = "0,1,0,0,-0.25,-0.75,0.5"
    assert pgso("train", "karate", "--preset", S, "--epochs", 1).exit_code == 0
    (record,) = Store(tmp_path / "runs")
    assert record.start[0] == tuple(map(float, S.split(",")))
    assert "-0.7500" not in pgso("spectrum", "karate", "--preset", S).stderr
    assert (tmp_path / "runs" / "spectrum-karate-0-1-0-0--0-25--0-75-0-5").is_dir()


def test_offline_downloads_nothing_and_leaves_the_data_folder_alone(pgso, tmp_path, monkeypatch):
    monkeypatch.setenv("PGSO_OFFLINE", "")  # is set by the switch, and restored afterwards
    root = tmp_path / "data"
    root.mkdir()
    result = pgso("train", "Cora", "--offline", "--data", root)
    assert result.exit_code == 2
    assert "nothing is downloaded offline; copy the files there" in result.stderr
    assert os.environ["PGSO_OFFLINE"] == "1"
    assert not list(root.iterdir())


@pytest.mark.parametrize(
    "words",
    [
        ("find", "karate", "--option", "rows=3"),
        ("find", "no_such_dataset"),
        ("find", "karate", "--option", "seed=3"),
        ("train", "karate", "--option", "objective=accuracy"),
        ("train", "karate", "--conv", "gnc", "--save", "weights/best.safetensors"),
        ("compare", "karate", "--conv", "gnc"),
        ("train", "karate", "--operator", "fixt"),
        ("spectrum", "no_such_dataset"),
        ("predict", "missing.safetensors", "karate", "--to", "tables/predictions.csv"),
        ("run", "initialisations", "--only", "no_such_dataset"),
    ],
)
def test_a_refused_command_leaves_nothing_behind(pgso, tmp_path, words):
    shown = pgso(*words)
    assert shown.exit_code == 2, shown.output
    assert list(tmp_path.iterdir()) == []
