"""Where a run computes is one value; nothing in a step makes a device wait without need."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch import nn

import pgso
from pgso.data.load import task_of
from pgso.scale.place import Place
from pgso.training.fit import fit
from pgso.training.learning import Criterion
from pgso.training.loops import Graphs, Sampled, WholeGraph
from pgso.training.session import Session
from tests.training.tasks import karate, minesweeper, shapes

SOURCE = Path(pgso.__file__).parent
WAITING = ("item", "tolist", "cpu", "numpy", "__bool__", "__float__", "__int__")


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
    loop = loop_class(spec, task, Criterion.of(spec, task, meta), task.val, Place(meta))
    network = Reports(task.num_outputs)
    for loss, _ in loop.losses(network, 0):
        assert loss.device == meta
    assert loop.held_out_loss(network).device == meta
    assert network.seen == {"meta"}


# γ's vectors and their derivatives are numpy's; only where the operator is on the CPU.
ALLOWED = (SOURCE / "gso" / "node_shift.py", SOURCE / "gso" / "formula.py")


def counted(monkeypatch, session):
    """Where a training epoch takes numbers of the operator, the weights or the loss to Python."""
    calls = []
    session.loop.outputs(session.model)  # graphs are cut for batches once, on first use
    for name in WAITING:
        original = getattr(torch.Tensor, name)

        def spying(tensor, *args, original=original, **options):
            code = sys._getframe(1).f_code
            file = Path(code.co_filename)
            if SOURCE in file.parents and file not in ALLOWED and tensor.is_floating_point():
                calls.append(f"{file.name}, {code.co_qualname}")
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
    "a bounded spectrum": (minesweeper(max_radius=1.0), 1),
    "a learned bank": (minesweeper(terms=("self", "gcn@in")), 1),
    "a filter": (minesweeper(conv="filter", degree=3, basis="chebyshev"), 1),
    "a bank of graphs": (shapes(batch_size=4, conv="bank", terms=("self", "gcn")), 2),
    "numbers": (pgso.RunSpec(dataset="diabetes", hidden_channels=4), 1),
    "attention": (minesweeper(conv="gat"), 1),
    "an S per channel": (minesweeper(operator="mpgso", shape="channel"), 1),
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


META = {
    **{conv: minesweeper(conv=conv) for conv in ("gcn", "gin", "gat", "sgc")},
    "bank": minesweeper(terms=("self", "gcn@in")),
    "filter": minesweeper(conv="filter", degree=3, basis="bernstein"),
    "bank of graphs": shapes(batch_size=4, conv="bank", terms=("self", "gcn")),
    "numbers": pgso.RunSpec(dataset="diabetes", hidden_channels=4),
    "one S a layer": minesweeper(operator="mpgso", norm="batch"),
    "S per node": minesweeper(shape="node"),
    "learned on validation": minesweeper(s_loss="val"),
    "a bounded spectrum": minesweeper(max_radius=1.0),
    "links": karate(task="link", data_options={"val": 0.1}),
    "graphs": shapes(batch_size=4),
    "samples": minesweeper(sample=(2, 2), batch_size=4),
}


@pytest.mark.parametrize("name", META)
def test_a_training_epoch_runs_where_no_number_can_be_read(name, shapes_root, monkeypatch):
    # Tensors on meta have no values: any item(), tolist(), cpu() or comparison in Python fails.
    session = Session(META[name], task_of(META[name], shapes_root), Place(torch.device("meta")))
    groups = [{"params": group["params"]} for group in session.optimiser.param_groups]
    session.optimiser = torch.optim.Adam(groups)  # fused Adam is not there for meta
    recorded = []
    monkeypatch.setattr(session, "_mean_of_processes", lambda loss: recorded.append(loss) or 0.0)
    session.model.train()
    session._train()
    assert {loss.device.type for loss in recorded} == {"meta"}
    assert all(weight.device.type == "meta" for weight in session.model.parameters())
