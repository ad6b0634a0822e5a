"""Networks that the ladder proposes."""

import dataclasses

import pytest
import torch

from pgso.data import load_task
from pgso.records import RunSpec
from pgso.training.choice import candidates_of
from pgso.training.fit import fit_task
from tests.training.tasks import karate, minesweeper

GRID = {"rows": 20, "cols": 20}


def test_validation_labels_take_no_part():
    task = load_task("minesweeper", **GRID)
    wrong = dataclasses.replace(task, y=task.y.clone())
    wrong.y[task.val] = 1 - wrong.y[task.val]
    spec = minesweeper(data_options=GRID)
    assert candidates_of(spec, task) == candidates_of(spec, wrong)


def test_the_kept_rung_comes_first_and_no_network_twice():
    proposed = candidates_of(minesweeper(), load_task("minesweeper", rows=40, cols=40))
    assert proposed[0].changes["conv"] == "bank"
    assert "self" in proposed[0].changes["terms"]
    changes = [candidate.changes for candidate in proposed]
    assert all(one not in changes[:place] for place, one in enumerate(changes))


def test_a_residual_map_is_the_term_self():
    task = load_task("minesweeper", rows=40, cols=40)
    proposed = candidates_of(minesweeper(residual=True), task)
    assert all("self" not in candidate.changes.get("terms", ()) for candidate in proposed)


@pytest.mark.parametrize("conv", ["gin", "gat", "sgc"])
def test_other_architectures_keep_their_layers(conv):
    for candidate in candidates_of(karate(conv=conv), load_task("karate")):
        assert candidate.changes.keys() == {"preset"}


def test_where_find_has_no_answer_there_are_none():
    assert candidates_of(karate(terms=("self", "gcn")), load_task("karate")) == []
    assert candidates_of(karate(task="link"), load_task("karate", task="link")) == []
    one_class = load_task("karate")
    one_class = dataclasses.replace(one_class, y=torch.zeros_like(one_class.y))
    assert candidates_of(karate(), one_class) == []


def test_directions_are_trained_on_the_data_as_they_are():
    options = {"world": "citations-cited", "nodes": 300}
    task = load_task("planted", **options)
    spec = RunSpec(dataset="planted", data_options=options, operator="found", epochs=2)
    _, record = fit_task(spec, task)
    assert any(term.endswith("@out") for term in record.network["terms"])
    assert record.spec == spec
    assert record.rung.endswith("in + out, 1 hop")
