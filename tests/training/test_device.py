"""Where a run computes is one value; nothing in a step makes a device wait without need."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch import nn

import pgso
from pgso.data.load import task_of
from pgso.errors import InputError
from pgso.scale import ranks
from pgso.training.criterion import Criterion
from pgso.training.device import device_of
from pgso.training.fit import fit
from pgso.training.loops.graphs import Graphs
from pgso.training.loops.loop import Run
from pgso.training.loops.sampled import Sampled
from pgso.training.loops.whole_graph import WholeGraph
from pgso.training.session import Session
from tests.training.tasks import karate, minesweeper, shapes

SOURCE = Path(pgso.__file__).parent
WAITING = ("item", "tolist", "cpu", "numpy", "__bool__", "__float__", "__int__")


def test_auto_is_a_gpu_if_there_is_one(monkeypatch):
    assert device_of() == device_of("auto") == device_of("cpu") == torch.device("cpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert device_of() == torch.device("cuda")
    assert device_of("cuda:1") == torch.device("cuda", 1)
    with pytest.raises(InputError, match="there is no cuda:2: torch sees 2 GPUs here"):
        device_of("cuda:2")


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("gpu", "no device is called 'gpu'; choose cpu, cuda"),
        ("meta", "runs compute on cpu or cuda, not on meta"),
        ("cuda", "there is no cuda: torch sees 0 GPUs here"),
    ],
)
def test_a_device_that_is_not_there_is_refused(monkeypatch, name, problem):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InputError, match=problem):
        fit(karate(), device=name)


def test_processes_of_torchrun_keep_their_own_device(monkeypatch):
    monkeypatch.setattr(ranks, "num_ranks", lambda: 2)
    assert device_of() == device_of("cpu") == ranks.device()
    with pytest.raises(InputError, match="leave out device 'cuda:1'"):
        device_of("cuda:1")


def test_the_record_says_where_it_was_computed():
    assert fit(karate(epochs=1), device="cpu").versions["device"] == "cpu"


class Reports(nn.Module):
    """A network that notes on which device its inputs are, and answers there."""

    def __init__(self, outputs):
        super().__init__()
        self.outputs, self.seen = outputs, set()

    def forward(self, x, graph, edge_weight=None, batch=None, num_graphs=None):
        self.seen |= {x.device.type, graph.device.type}
        rows = x.size(0) if batch is None else num_graphs
        return torch.zeros(rows, self.outputs, device=x.device, requires_grad=True)


LOOPS = {
    "whole": (WholeGraph, minesweeper()),
    "sampled": (Sampled, minesweeper(sample=(2, 2), batch_size=10)),
    "graphs": (Graphs, shapes()),
}


@pytest.mark.parametrize("name", LOOPS)
def test_losses_are_computed_where_the_run_is(name, shapes_root):
    loop_class, spec = LOOPS[name]
    task = task_of(spec, shapes_root)
    meta = torch.device("meta")
    loop = loop_class(Run(spec, task, Criterion.of(spec, task, meta), task.val, meta))
    network = Reports(task.num_outputs)
    for loss, _ in loop.losses(network, 0):
        assert loss.device == meta
    assert loop.held_out_loss(network).device == meta
    assert network.seen == {"meta"}


def counted(monkeypatch, session):
    """How often a training epoch takes a float off its device; the operator's own are not ours."""
    calls = []
    for name in WAITING:
        original = getattr(torch.Tensor, name)

        def spying(tensor, *args, original=original, **options):
            file = Path(sys._getframe(1).f_code.co_filename)
            ours = SOURCE in file.parents and SOURCE / "gso" not in file.parents
            if ours and tensor.is_floating_point():
                calls.append(file.name)
            return original(tensor, *args, **options)

        monkeypatch.setattr(torch.Tensor, name, spying)
    session.model.train()
    session._train()
    monkeypatch.undo()
    return len(calls)


CASES = {
    "whole graph": (minesweeper(), 1),
    "learned on validation": (minesweeper(s_loss="val"), 1),
    "links": (karate(task="link", data_options={"val": 0.1}), 1),
    "two batches": (shapes(batch_size=4), 2),
    "many batches": (shapes(batch_size=2), 2),
    "samples": (minesweeper(sample=(2, 2), batch_size=4), 2),
}


@pytest.mark.parametrize("name", CASES)
def test_a_step_takes_no_number_off_the_device_beyond_the_recorded_loss(
    name, shapes_root, monkeypatch
):
    spec, expected = CASES[name]
    assert counted(monkeypatch, Session(spec, task_of(spec, shapes_root))) == expected


def test_the_count_notices_a_number_that_is_taken(monkeypatch):
    spec = karate()
    session = Session(spec, task_of(spec))
    losses = session.loop.losses
    taking = SimpleNamespace(__file__=str(SOURCE / "training" / "session.py"))
    code = compile("def take(loss): return loss.item()", taking.__file__, "exec")
    scope = {}
    exec(code, scope)

    def noisy(network, epoch):
        for loss, count in losses(network, epoch):
            scope["take"](loss)
            yield loss, count

    monkeypatch.setattr(session.loop, "losses", noisy)
    assert counted(monkeypatch, session) == 2
