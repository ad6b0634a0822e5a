import json
import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

import pgso
from pgso import fit
from pgso.data import load_task
from pgso.errors import InputError
from pgso.records import RunRecord, RunSpec
from pgso.training.fit import fit_task
from tests.training.tasks import karate, minesweeper, shapes


@pytest.fixture(params=["karate", "minesweeper", "gat", "shapes", "auto"])
def request_(request, shapes_root):
    specs = {
        "karate": karate(operator="mpgso"),
        "minesweeper": minesweeper(norm="batch", residual=True),
        "gat": karate(conv="gat"),
        "shapes": shapes(),
        "auto": karate(operator="auto", epochs=3),
    }
    return specs[request.param], shapes_root


def test_the_same_spec_gives_the_same_record_but_for_times(request_):
    spec, root = request_
    torch.manual_seed(1)
    one = fit(spec, root)
    torch.manual_seed(2)
    other = fit(spec, root)
    assert one.without_times() == other.without_times()
    assert (
        RunRecord.model_validate_json(one.model_dump_json()).without_times() == one.without_times()
    )


def test_a_record_says_how_the_run_went(request_):
    spec, root = request_
    record = fit(spec, root)
    assert record.status == "done"
    assert record.spec == spec
    assert {len(curve) for curve in record.curves.values()} == {spec.epochs}
    assert record.val == record.curves["val"][record.epoch] == max(record.curves["val"])
    assert record.test == record.curves["test"][record.epoch]
    assert [list(S) for S in record.parameters] == [
        list(S) for S in record.curves["parameters"][record.epoch]
    ]
    assert len(record.nearest) == len(record.parameters) == len(record.start)
    assert record.timing["seconds"] > 0
    assert set(record.versions) >= {"pgso", "torch", "python"}
    json.dumps(record.model_dump(mode="json"), allow_nan=False)


def test_watching_sees_every_epoch_and_changes_nothing():
    seen = []
    watched = fit(karate(), watch=lambda session: seen.append(session.epoch))
    assert seen == [1, 2, 3, 4, 5, 6]
    assert watched.without_times() == fit(karate()).without_times()


def test_a_run_that_diverges_says_when_and_keeps_its_best_epoch():
    spec = karate(epochs=8)

    def poison(session):
        if session.epoch == 3:
            with torch.no_grad():
                session.model.operators[0].m2.fill_(math.inf)

    record = fit(spec, watch=poison)
    healthy = fit(spec.but(epochs=3))
    assert record.status == "diverged"
    assert "in epoch 3, where S was (" in record.error
    assert "inf" in record.error
    assert (record.val, record.test, record.epoch) == (healthy.val, healthy.test, healthy.epoch)
    assert record.parameters == healthy.parameters
    assert record.curves == healthy.curves


def test_a_run_that_never_was_a_number_has_no_scores():
    record = fit(karate(lr=1e30, preset=(0, 1e30, 0, 0, 20, 20, 1)))
    assert record.status == "diverged"
    assert record.val is record.test is record.epoch is None
    assert record.parameters == record.start
    assert "in epoch 0" in record.error


def test_auto_takes_the_operator_that_is_best_on_validation():
    spec = minesweeper(epochs=10, seed=1)
    candidates = [fit(spec.but(operator=name)) for name in ("fixed", "pgso", "mpgso")]
    best = max(candidates, key=lambda record: record.val)
    record = fit(spec.but(operator="auto"))
    assert record.chosen == best.spec.operator
    assert record.spec.operator == "auto"
    assert (record.val, record.test, record.curves) == (best.val, best.test, best.curves)


def test_the_simplest_operator_wins_a_tie():
    record = fit(karate(operator="auto", epochs=30, lr=0.05))
    assert record.val == 1.0
    assert record.chosen == "fixed"


def test_without_evidence_that_it_helps_the_fixed_operator_is_kept():
    spec = minesweeper(epochs=10, recipe="robust", evidence=0.999, dropout=0.9)
    fixed, record = fit(spec.but(operator="fixed")), fit(spec.but(operator="pgso"))
    assert record.confidence["pgso"] < 0.999
    assert record.chosen == "fixed"
    assert (record.val, record.test, record.curves) == (fixed.val, fixed.test, fixed.curves)
    assert fixed.confidence == {}


def test_with_evidence_it_is_the_learned_one_as_if_it_had_run_alone():
    grid = {"rows": 60, "cols": 60}
    spec = minesweeper(epochs=60, data_options=grid, recipe="robust", operator="mpgso", lr=0.05)
    record, alone = fit(spec), fit(spec.but(evidence=None))
    assert record.confidence["mpgso"] > spec.evidence
    assert record.chosen == "mpgso"
    assert (record.val, record.test, record.curves) == (alone.val, alone.test, alone.curves)


def test_an_operator_that_diverges_is_not_evidence():
    record = fit(karate(operator="pgso", evidence=0.5, s_rate=1e30))
    assert record.chosen == "fixed"
    assert record.status == "done"


def test_a_task_without_validation_is_refused():
    task = load_task("karate")
    object.__setattr__(task, "val", torch.zeros(0, dtype=torch.long))
    with pytest.raises(InputError, match="karate needs labelled training and validation examples"):
        fit_task(karate(), task)


def directed(folder):
    edges = np.array([[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], [1, 2, 3, 4, 5, 6, 7, 8, 9, 0]])
    path = folder / "ring.npz"
    np.savez(path, edge_index=edges, y=np.arange(10) % 2)
    return path


def test_a_directed_graph_has_no_interval_and_no_radius(tmp_path):
    spec = karate(dataset=str(directed(tmp_path)), data_options={"undirected": False})
    record = fit(spec)
    assert record.status == "done"
    assert record.curves["interval"] == []
    with pytest.raises(InputError, match="needs an undirected graph; ring is not"):
        fit(spec.but(max_radius=1.0))


def test_fits_in_two_threads_give_the_records_they_give_alone():
    specs = [karate(epochs=8, seed=seed) for seed in range(4)]
    alone = [fit(spec).without_times() for spec in specs]
    with ThreadPoolExecutor(4) as pool:
        together = [record.without_times() for record in pool.map(fit, specs)]
    assert together == alone


def test_a_start_beyond_32_bits_is_one_sentence():
    with pytest.raises(InputError, match="S must start below 1e\\+38"):
        fit(karate(epochs=1, preset=(1e300,) * 7))


def kinds_of_edges(folder):
    folder.mkdir()
    names = [f"n{k}" for k in range(12)]
    rows = [f"{names[k]},{names[(k + 1) % 12]},near" for k in range(12)]
    rows += [f"{names[k]},{names[(k + 5) % 12]},far" for k in range(12)]
    (folder / "edges.csv").write_text("source,target,relation\n" + "\n".join(rows) + "\n")
    labels = "".join(f"{name},{'xy'[k % 2]}\n" for k, name in enumerate(names))
    (folder / "labels.csv").write_text(labels)
    return str(folder)


def test_terms_on_relations_are_trained_each_on_its_edges(tmp_path):
    folder = kinds_of_edges(tmp_path / "kinds")
    terms = ("self", "gcn@near", "mean@far", "gcn")
    record = fit(RunSpec(dataset=folder, terms=terms, epochs=3))
    assert record.status == "done"
    assert len(record.parameters) == len(record.nearest) == 3
    assert record.curves["interval"] == []  # they are not all of one matrix
    with pytest.raises(InputError, match="no relation is called 'nera'"):
        fit(RunSpec(dataset=folder, terms=("gcn@nera",), epochs=1))
    with pytest.raises(InputError, match="the edges of karate have none"):
        fit(RunSpec(dataset="karate", terms=("gcn@near",), epochs=1))
    with pytest.raises(InputError, match="on its whole graph"):
        fit(RunSpec(dataset=folder, terms=terms, sample=(2, 2), epochs=1))


def test_a_network_without_a_term_on_the_graph_is_trained_too():
    record = fit(RunSpec(dataset="karate", terms=("self",), epochs=2))
    assert (record.status, record.parameters, record.nearest) == ("done", (), ())


def test_data_in_memory_are_trained_on_as_files_are():
    named = load_task("karate")
    spec = karate(epochs=3)
    in_memory = spec.but(dataset="in memory")
    record = fit(in_memory, task=named)
    assert record.curves["loss"] == fit(spec).curves["loss"]
    assert record.spec == in_memory
    found = pgso.find(named)
    assert fit(found.spec().but(dataset="in memory", epochs=2), task=found.task).status == "done"


@pytest.mark.parametrize(
    ("choices", "options", "sentence"),
    [
        ({"dataset": "in memory"}, {}, "give them as pgso.fit"),
        ({}, {"task": load_task("karate")}, "karate is the name of a dataset"),
        ({"dataset": "in memory"}, {"task": "karate"}, "task must be a pgso.Task, got str"),
        (
            {"dataset": "in memory", "task": "link"},
            {"task": load_task("karate")},
            "a node task, not a link task",
        ),
        (
            {"dataset": "in memory", "head": "closed_form"},
            {"task": load_task("karate")},
            "is pgso.find",
        ),
        (
            {"dataset": "in memory"},
            {"task": load_task("karate"), "checkpoint": "run.safetensors"},
            "a checkpoint is of data in files",
        ),
    ],
)
def test_what_a_record_of_data_in_memory_would_confuse_is_refused(choices, options, sentence):
    with pytest.raises(InputError, match=sentence):
        fit(RunSpec(**{"dataset": "karate", **choices}), **options)
