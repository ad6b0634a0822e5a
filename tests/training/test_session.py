import math

import pytest
import torch

from pgso.data import load_task
from pgso.evaluation import scores
from pgso.evaluation.scores import predict_outputs
from pgso.spectrum import gershgorin_interval
from pgso.training import loops
from pgso.training import session as sessions
from pgso.training.session import Divergence, Session, tensors_of
from tests.training.tasks import karate, minesweeper, shapes

OPERATORS = ("fixed", "pgso", "mpgso")


def session_of(spec, root=None) -> Session:
    return Session(spec, load_task(spec.dataset, root, spec.seed, **spec.data_options))


def weights(session) -> dict[str, torch.Tensor]:
    names = {name for name in tensors_of(session.model) if ".gso." not in name}
    return {
        name: value.clone() for name, value in tensors_of(session.model).items() if name in names
    }


@pytest.mark.parametrize("conv", ["gcn", "gin", "gat"])
def test_operators_start_with_the_same_weights_and_the_same_function(conv):
    sessions = [session_of(karate(conv=conv, operator=name, seed=3)) for name in OPERATORS]
    first = weights(sessions[0])
    logits = predict_outputs(sessions[0].model, sessions[0].task)
    assert first
    for other in sessions[1:]:
        assert weights(other).keys() == first.keys()
        for name, value in weights(other).items():
            torch.testing.assert_close(value, first[name], rtol=0, atol=0)
        torch.testing.assert_close(predict_outputs(other.model, other.task), logits)


def test_another_seed_is_another_start():
    one, other = (weights(session_of(minesweeper(seed=seed))) for seed in (0, 1))
    assert any(not torch.equal(one[name], other[name]) for name in one)


def test_the_fixed_operator_stays_and_a_learned_one_moves():
    for name in OPERATORS:
        session = session_of(karate(operator=name))
        before = session.operators()
        session.run_epoch()
        assert len(before) == (2 if name == "mpgso" else 1)
        assert (session.operators() == before) == (name == "fixed")


@pytest.mark.parametrize("at_once", [1, 3000, 2**20])
@pytest.mark.parametrize("choices", [{}, {"operator": "mpgso"}, {"shape": "channel", "jk": "last"}])
def test_intervals_found_later_are_those_of_every_epoch(monkeypatch, at_once, choices):
    monkeypatch.setattr("pgso.training.session.CERTIFIED_AT_ONCE", at_once)
    session = session_of(karate(**choices))
    expected = []
    for epoch in range(6):
        session.run_epoch()
        graph = session.task.graph
        ends = [gershgorin_interval(graph, gso.S.detach()) for gso in session.model.operators]
        expected.append([(low.min().item(), high.max().item()) for low, high in ends])
        if epoch == 3:
            assert len(session.curves["interval"]) == 4
    actual = torch.tensor(session.curves["interval"])
    torch.testing.assert_close(actual, torch.tensor(expected), rtol=1e-6, atol=1e-6)


def test_scores_are_those_of_the_predictions():
    session = session_of(minesweeper())
    session.run_epoch()
    task = session.task
    logits = predict_outputs(session.model, task).detach()
    for part in ("train", "val", "test"):
        index = getattr(task, part)
        expected = task.objective.score(logits[index].numpy(), task.y[index].numpy())
        assert session.curves[part][-1] == expected


def test_graphs_are_scored_alike_one_by_one_or_all_at_once(shapes_root, monkeypatch):
    monkeypatch.setattr(loops, "EVALUATED_AT_ONCE", 5)
    monkeypatch.setattr(scores, "EVALUATED_AT_ONCE", 3)
    session = session_of(shapes(), shapes_root)
    session.run_epoch()
    task = session.task
    session.model.eval()
    for indices in torch.arange(task.num_graphs).split(1):
        part = task.batch(indices)
        with torch.no_grad():
            alone = session.model(part.x, part.graph, None, part.batch, 1)
        torch.testing.assert_close(alone, predict_outputs(session.model, task)[indices])
    right = predict_outputs(session.model, task).argmax(1) == task.y
    assert session.curves["val"][-1] == pytest.approx(float(right[task.val].double().mean()))


def test_a_large_training_set_of_graphs_is_not_scored(shapes_root, monkeypatch):
    monkeypatch.setattr(sessions, "MANY_GRAPHS", 3)
    session = session_of(shapes(), shapes_root)
    session.run_epoch()
    assert session.curves["train"] == [None]
    assert session.curves["val"][0] is not None
    assert session.curves["test"][0] is not None
    assert sum(batch.num_graphs for batch in session.loop.scored_batches) == 16


@pytest.mark.parametrize("batch_size", [1, 5, 7, 100])
def test_every_graph_is_trained_on_whatever_the_batch_size(shapes_root, monkeypatch, batch_size):
    session = session_of(shapes(batch_size=batch_size), shapes_root)
    seen = []
    batch = type(session.task).batch

    def spying(task, indices):
        seen.extend(indices.tolist())
        return batch(task, indices)

    before = weights(session)
    assert session.loop.scored_batches  # what is scored is cut on first use
    monkeypatch.setattr(type(session.task), "batch", spying)
    session.run_epoch()
    assert sorted(seen) == sorted(session.task.train.tolist())
    assert any(not torch.equal(before[name], value) for name, value in weights(session).items())
    assert session.curves["loss"][0] > 0


def test_the_best_epoch_is_chosen_on_validation_and_its_weights_are_kept():
    session = session_of(minesweeper(epochs=12, lr=0.1))
    for _ in range(12):
        session.run_epoch()
    val = session.curves["val"]
    assert val[session.best_epoch] == max(val)
    with torch.no_grad():
        for name, tensor in tensors_of(session.model).items():
            tensor.copy_(session.best_weights[name])
    task = session.task
    logits = predict_outputs(session.model, task)[task.test].detach()
    actual = task.objective.score(logits.numpy(), task.y[task.test].numpy())
    assert actual == session.curves["test"][session.best_epoch]


def test_a_loss_that_is_no_number_stops_the_run_before_it_does_harm():
    session = session_of(karate())
    session.run_epoch()
    S = session.operators()
    with torch.no_grad():
        session.model.layers[0].conv.lin.weight.fill_(math.nan)
    with pytest.raises(
        Divergence, match=r"the loss became nan in epoch 1, where S was \("
    ) as event:
        session.run_epoch()
    assert str(S[0]) in str(event.value)
    assert session.epoch == 1
    assert session.operators() == S


@pytest.mark.parametrize("choices", [{}, {"max_radius": 0.5}])
def test_a_gradient_that_is_no_number_stops_the_run_too(choices):
    session = session_of(karate(**choices))
    session.run_epoch()
    session.model.operators[0].m1.register_hook(lambda gradient: gradient * math.nan)
    with pytest.raises(Divergence, match="in epoch 1"):
        session.run_epoch()
    assert session.epoch == 1
    assert session.best_epoch == 0
    assert all(len(curve) == 1 for curve in session.curves.values())


@pytest.mark.parametrize("operator", OPERATORS)
def test_max_radius_holds_from_before_the_first_epoch_on(operator):
    session = session_of(
        karate(operator=operator, preset="laplacian", max_radius=0.8, lr=0.2, epochs=5)
    )
    assert certified(session) <= 0.8
    for _ in range(5):
        session.run_epoch()
        assert certified(session) <= 0.8
        for low, high in session.curves["interval"][-1]:
            assert -0.8 <= low <= high <= 0.8


def certified(session) -> float:
    intervals = [gershgorin_interval(session.task.graph, S) for S in session.operators()]
    return max(abs(float(end)) for interval in intervals for end in interval)


def test_processes_average_running_statistics_and_leave_a_fixed_operator_alone(monkeypatch):
    session = session_of(karate(operator="fixed", norm="batch"))
    averaged = []
    monkeypatch.setattr(
        type(session.place), "average", lambda place, values: averaged.extend(values)
    )
    session.run_epoch()
    norms = [module for module in session.model.modules() if hasattr(module, "running_var")]
    expected = {id(value) for norm in norms for value in (norm.running_mean, norm.running_var)}
    assert expected
    of_the_model = {id(value) for value in tensors_of(session.model).values()}
    assert {id(value) for value in averaged} & of_the_model == expected


def test_an_evaluation_and_the_training_pass_after_it_share_their_operators(monkeypatch):
    session, made = session_of(karate(operator="pgso", epochs=4)), []
    make = loops.operators_on
    monkeypatch.setattr(loops, "operators_on", lambda *given: made.append(given) or make(*given))
    for _ in range(4):
        session.run_epoch()
    assert len(made) == 1 + 4  # before the first pass, and after each step


@pytest.mark.parametrize("operator", ["pgso", "mpgso"])
def test_a_training_pass_has_the_S_of_now_if_others_have_changed_it(operator):
    curves = []
    for is_anew in (False, True):
        session = session_of(karate(operator=operator, epochs=2))
        session.run_epoch()
        with torch.no_grad():
            session.model.operators[0].m1.add_(0.5)
        if is_anew:
            session.loop.shared = {}
        session.run_epoch()
        curves.append(session.curves)
    assert curves[0] == curves[1]
