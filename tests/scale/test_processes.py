"""Training in several processes: the run of one, and a run that loses a process goes on."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread

import pytest
import torch

from pgso.errors import InputError
from pgso.scale.place import LostProcess, Place, joined
from pgso.training.fit import fit
from tests.scale.processes import run
from tests.training.tasks import karate, minesweeper, shapes, write_triangles_and_paths

EXACT = {"dropout": 0.0, "epochs": 3}
RUNS = {
    "attention": karate(**EXACT, conv="gat", heads=2, sample=(-1, -1), batch_size=1000),
    "all neighbours": minesweeper(**EXACT, sample=(-1, -1), batch_size=1000),
}


def records(place):
    return {name: fit(spec, device=place).curves for name, spec in RUNS.items()}


def test_two_processes_train_as_one_does(tmp_path):
    expected = records(Place())
    for actual in run(2, records, folder=tmp_path):
        assert not isinstance(actual, Exception), actual
        for name, curves in expected.items():
            # A score jumps where two nodes change places, a loss does not.
            for curve, slack in (("loss", 1e-5), ("parameters", 1e-5), ("val", 0.1)):
                mine, theirs = (torch.tensor(each[curve]) for each in (actual[name], curves))
                assert (mine - theirs).abs().max() < slack, (name, curve)


def not_sampled(place, spec, root):
    return fit(spec, root, device=place)


@pytest.mark.parametrize("spec", [karate(epochs=1), shapes(epochs=1)], ids=["node", "graph"])
def test_what_is_not_sampled_is_refused_in_several_processes(tmp_path, spec):
    write_triangles_and_paths(tmp_path)
    for error in run(2, not_sampled, spec, tmp_path, folder=tmp_path):
        assert isinstance(error, InputError)
        assert "2 processes share sampled batches" in str(error)
        assert "--sample 15,10" in str(error)


SAMPLED = minesweeper(sample=(4, 3), batch_size=8, norm="batch", epochs=4)


def interrupted(place, path, dies_at):
    def watch(session):
        if place.rank == 1 and session.epoch == dies_at:
            os._exit(7)

    record = fit(SAMPLED, watch=watch, checkpoint=path, checkpoint_every=1, device=place)
    return record.without_times()


def test_a_process_that_dies_ends_the_others_and_the_run_goes_on(tmp_path):
    checkpoint = tmp_path / "run.safetensors"
    whole, _ = run(2, interrupted, tmp_path / "other", None, folder=tmp_path)
    survivor, dead = run(2, interrupted, checkpoint, 2, folder=tmp_path)
    assert dead == 7
    assert isinstance(survivor, LostProcess)
    assert "process 0 of 2 lost another one " in str(survivor)
    assert "start the same command again" in str(survivor)
    assert checkpoint.exists()
    assert run(2, interrupted, checkpoint, None, folder=tmp_path) == [whole, whole]
    assert not checkpoint.exists()


def test_torchrun_starts_the_command_line(tmp_path):
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += ["--nproc-per-node", "2", "-m", "pgso", "train", "karate", "--epochs", "2"]
    command += ["--sample", "3,2", "--out", str(tmp_path)]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("validation accuracy") == 1
    assert len(list((tmp_path / "records").glob("*.json"))) == 1


def fails(place):
    if place.rank == 1:
        raise RuntimeError("mine")
    ones = torch.ones(1)
    place.average([ones])  # waits for the other one
    return ones


def test_an_error_in_one_process_is_its_own_and_ends_the_others(tmp_path):
    waiting, failed = run(2, fails, folder=tmp_path)
    assert isinstance(failed, RuntimeError)
    assert str(failed) == "mine"
    assert isinstance(waiting, LostProcess)
    assert "process 0 of 2 lost another one " in str(waiting)


def stopped(place, path):
    def watch(session):
        if place.rank == 1 and session.epoch == 1:
            Path(path).write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGSTOP)

    fit(SAMPLED, watch=watch, device=place)


def test_a_process_that_is_stopped_ends_the_others_after_the_patience_that_was_set(tmp_path):
    def end_it():  # the stopped one cannot end by itself
        survivor_ended = tmp_path / "result-0.pt"
        while not survivor_ended.exists():
            time.sleep(0.05)
        os.kill(int((tmp_path / "stopped").read_text()), signal.SIGKILL)

    Thread(target=end_it, daemon=True).start()
    survivor, dead = run(
        2, stopped, tmp_path / "stopped", folder=tmp_path, environment={"PGSO_PATIENCE": "3"}
    )
    assert dead == -signal.SIGKILL
    assert isinstance(survivor, LostProcess)
    assert "process 0 of 2 lost another one " in str(survivor)


@pytest.mark.parametrize("absent", [0, 1])
def test_a_process_that_never_joins_is_not_waited_for_longer_than_the_patience(
    absent, tmp_path, monkeypatch
):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    given = {"RANK": 1 - absent, "WORLD_SIZE": 2, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    for name, value in {**given, "PGSO_PATIENCE": "1"}.items():
        monkeypatch.setenv(name, str(value))
    with (
        pytest.raises(LostProcess, match=r"2 processes did not all meet at .* within 1 s"),
        joined(),
    ):
        pass
