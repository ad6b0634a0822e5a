"""The race is fair: same labels for all, test labels hidden, a page that follows the records."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from benchmarks.rivals import ledger, page, rank, speed
from benchmarks.rivals.field import DATASETS, GRAPHLAND, OURS, RIVALS, graphland, races
from benchmarks.rivals.problem import Problem, read, state_of
from benchmarks.rivals.summary import Race
from torch_geometric.datasets import GraphLandDataset

import pgso

ROOT = Path(__file__).parents[2]
ON_NODES = [r.name for r in RIVALS.values() if "node" in r.kinds and r.name not in OURS]


@pytest.fixture(scope="module")
def graphs():
    """Twelve small graphs: cycles of class 0, stars of class 1."""
    from torch_geometric.data import Data

    cycle = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]])
    star = torch.tensor([[0, 0, 0, 0], [1, 2, 3, 4]])
    data = []
    for k in range(12):
        edges = (cycle, star)[k % 2]
        edges = torch.cat([edges, edges.flip(0)], dim=1)
        x = torch.arange(int(edges.max()) + 1.0)[:, None] + k
        data.append(Data(edge_index=edges, x=x, y=torch.tensor([k % 2])))
    return pgso.Task.from_data(data)


def test_labels_of_the_test_set_are_hidden():
    task, y = read("sbm", 0)
    problem = Problem(task, 0)
    assert (problem.y[problem.test] == -1).all()
    np.testing.assert_array_equal(problem.y[problem.train], y[problem.train])
    np.testing.assert_array_equal(problem.y[problem.val], y[problem.val])
    numbers = Problem(pgso.load_task("diabetes"), 0)
    assert np.isnan(numbers.y[numbers.test]).all()
    assert np.isfinite(numbers.y[numbers.val]).all()


@pytest.mark.parametrize("name", ON_NODES)
def test_every_rival_predicts_all_test_nodes(name):
    pytest.importorskip(
        {"lightgbm": "lightgbm", "catboost_graph": "catboost"}.get(name, "torch"),
        reason="pip install '.[rivals]'",
    )
    task, y = read("karate", 0)
    problem = Problem(task, 0, epochs=3)
    given = {"dataset": "Cora"} if RIVALS[name].tuned else {}
    answer = RIVALS[name].call()(problem, **given)
    assert answer.out.shape == (34, 2)
    assert np.isfinite(answer.out).all()
    assert 0 <= problem.score(answer.out, problem.test, y) <= 1


def test_the_tuned_network_has_the_published_settings_and_races_where_there_are_any():
    from benchmarks.rivals.networks import Trainer

    from pgso.records.suggestions import strong

    trainer = Trainer("gcn", Problem(read("karate", 0)[0], 0), strong("minesweeper", {}))
    assert [len(trainer.model.layers), len(trainer.model.norms), trainer.epochs] == [12, 12, 2000]
    assert trainer.optimiser.defaults["weight_decay"] == 0.0
    where = {name for name, dataset in DATASETS.items() if races(RIVALS["tuned_gcn"], dataset)}
    assert {"Cora", "minesweeper-public"} <= where
    assert not where & {"Texas", "MUTAG", "US-counties"}


def test_neighbours_are_those_of_the_graph_without_the_node_itself():
    from torch_geometric.data import Data

    edges = torch.tensor([[0, 1, 3, 0], [1, 2, 3, 1]])  # 0 - 1 - 2, a loop at 3, an edge twice
    x = torch.tensor([[1.0], [10.0], [4.0], [7.0]])
    data = Data(edge_index=edges, x=x, y=torch.tensor([0, 1, 0, 1]))
    data.train_mask = torch.tensor([True, True, False, False])
    data.val_mask = torch.tensor([False, False, True, False])
    data.test_mask = torch.tensor([False, False, False, True])
    columns = Problem(pgso.Task.from_data(data), 0).neighbours()
    expected = torch.tensor([[10.0, 10, 10], [2.5, 4, 1], [10, 10, 10]])
    torch.testing.assert_close(columns[:3], expected)
    assert columns[3].isnan().all()  # nobody but itself


def test_some_graphs_side_by_side_are_these_graphs(graphs):
    from benchmarks.rivals.networks import Trainer

    trainer = Trainer("gcn", Problem(graphs, 0))
    trainer.model.eval()
    with torch.no_grad():
        together = trainer.predict(torch.tensor([7, 2, 4]))
        alone = [trainer.predict(torch.tensor([k])) for k in (7, 2, 4)]
    torch.testing.assert_close(together, torch.cat(alone))
    x, edges, _, _ = trainer.graphs(torch.tensor([7]))  # a star, whose first node is the centre
    assert x.size(0) == 5
    assert sorted(edges[0].bincount().tolist()) == [1, 1, 1, 1, 4]


def test_distortion_is_lowest_where_the_signal_is_the_labels():
    labels = np.repeat([0, 1, 2], 12)
    generator = np.random.default_rng(0)
    aligned = np.eye(3)[labels] + 0.01 * generator.normal(size=(36, 3))
    shuffled = generator.permutation(aligned)
    assert rank.distortion(aligned, labels) < rank.distortion(shuffled, labels)


def test_distortion_is_the_mean_eigenvalue():
    generator = np.random.default_rng(1)
    labels, signal = np.repeat([0, 1], 8), generator.normal(size=(16, 2))
    L1 = rank.laplacian_of_neighbours(np.eye(2)[labels])
    L2 = rank.laplacian_of_neighbours(signal)
    matrix = np.linalg.inv(L1 + 1e-3 * np.eye(16)) @ L2
    expected = np.linalg.eigvals(matrix).real.mean()
    np.testing.assert_allclose(rank.distortion(signal, labels), expected)


def record(dataset, split, rival, test, ladder=4, seconds=1.0, metric="accuracy"):
    return {
        "dataset": dataset,
        "split": split,
        "rival": rival,
        "revision": RIVALS[rival].revision,
        "numerics": pgso.NUMERICS,
        "ladder": ladder,
        "metric": metric,
        "data": "0123456789ab",
        "test": test,
        "test_items": 100,
        "seconds": seconds,
        "memory_mib": 500.0,
    }


def written(path, records):
    for line in records:
        ledger.append(line, path)
    return ledger.read(path)


def test_what_is_measured_is_not_measured_again(tmp_path):
    known = written(tmp_path / "cells.jsonl", [record("Texas", 0, "linear", 0.8)])
    cells = list(ledger.missing(known, 2, [DATASETS["Texas"]], [RIVALS["linear"]]))
    assert cells == [("Texas", 1, "linear")]


def test_a_published_single_split_is_run_once():
    cells = list(ledger.missing([], 10, [DATASETS["Cora"]], [RIVALS["linear"]]))
    assert cells == [("Cora", 0, "linear")]


def test_two_ladders_of_find_are_not_mixed_and_others_stay(tmp_path):
    known = written(
        tmp_path / "cells.jsonl",
        [
            record("Texas", 0, "find", 0.8, ladder=3),
            record("Texas", 1, "find", 0.8, ladder=3),
            record("Texas", 0, "linear", 0.7, ladder=3),
            record("Texas", 0, "find", 0.9, ladder=4),
        ],
    )
    assert {(split, rival) for _, split, rival in known} == {(0, "find"), (0, "linear")}
    assert known["Texas", 0, "find"]["test"] == 0.9


def test_records_of_other_data_are_not_used(tmp_path):
    lines = [record("Texas", 0, "linear", 0.8), record("Texas", 0, "find", 0.9) | {"data": "new"}]
    known = written(tmp_path / "cells.jsonl", lines)
    assert list(known) == [("Texas", 0, "find")]


def test_the_state_of_the_data_moves_with_the_split():
    first, again, other = (state_of(pgso.load_task("sbm", seed=seed)) for seed in (0, 0, 1))
    assert first == again != other


@pytest.mark.parametrize("calls", [speed.products, speed.chebyshev, speed.gcn_steps])
def test_what_is_timed_gives_the_same(calls):
    ways = calls(speed.power_law_edges(30, 80), 30)
    expected = ways.pop("pgso")()
    del ways["compiled"]  # minutes of compiling
    assert len(ways) >= 2
    for call in ways.values():
        torch.testing.assert_close(call(), expected, rtol=1e-3, atol=1e-4)


def test_records_of_an_older_revision_of_a_rival_are_not_used(tmp_path):
    old = record("Texas", 0, "linear", 0.8) | {"revision": 0}
    assert written(tmp_path / "cells.jsonl", [old]) == {}


def test_a_rival_is_not_asked_what_it_cannot_answer():
    assert not races(RIVALS["label_propagation"], DATASETS["MUTAG"])
    assert not races(RIVALS["correct_and_smooth"], DATASETS["US-counties"])
    assert not races(RIVALS["forest"], DATASETS["MUTAG"])
    assert races(RIVALS["forest"], DATASETS["ESOL"])


@pytest.fixture
def race(tmp_path):
    """LightGBM is better than find on Texas, worse on Wisconsin; on ESOL lower is better."""
    ours = {"Texas": (0.70, 0.72, 0.71), "Wisconsin": (0.8, 0.81, 0.82)}
    theirs = {"Texas": (0.75, 0.78, 0.76), "Wisconsin": (0.70, 0.71, 0.73)}
    lines = [record("ESOL", 0, "find", 1.2, metric="rmse")]
    lines += [record("ESOL", 0, "forest", 1.8, metric="rmse")]
    lines += [record("ESOL", 0, "majority", 2.4, metric="rmse")]
    for rival, scores in (("find", ours), ("lightgbm", theirs)):
        for dataset, tests in scores.items():
            lines += [record(dataset, k, rival, test) for k, test in enumerate(tests)]
    return Race(written(tmp_path / "cells.jsonl", lines))


def test_the_page_says_where_find_is_beaten(race):
    assert race.where("lightgbm", "better") == ["Texas"]
    assert race.where("lightgbm", "worse") == ["Wisconsin"]
    first, beaten, *_ = page.sentences(race)
    assert "clearly better in 1 of 2" in first
    assert "clearly worse in 1, and 0 are open" in first
    assert "LightGBM on Texas (+5.3 [" in beaten
    assert "Wisconsin" not in beaten


def test_the_same_difference_on_every_split_of_few_items_is_not_certainty(tmp_path):
    lines = [record("Texas", k, "find", 0.5) for k in range(3)]
    lines += [record("Texas", k, "linear", 0.51) for k in range(3)]
    lines += [record("Texas", k, "gat", 0.7) for k in range(2)]
    race = Race(written(tmp_path / "cells.jsonl", lines))
    assert race.difference("Texas", "linear").verdict == "open"
    assert race.difference("Texas", "gat").verdict == "no interval"  # two splits


def test_lower_is_better_where_it_is(race):
    difference = race.difference("ESOL", "forest")
    assert difference.mean == pytest.approx(-0.6)
    assert race.share("ESOL", "forest") == pytest.approx(0.5)
    assert "wins on none of them" in page.page(race)


def test_published_scores_stand_next_to_ours(race):
    text = page.page(race)
    assert "| Texas | 71.0 | 80.8 | TabPFN-GN | TabPFN-GN |" in text
    assert "| Cora |" not in text.partition("## Published elsewhere")[2].partition("\n## ")[0]


def test_graphs_of_graphland_race_once_their_files_are_there(tmp_path):
    assert graphland(tmp_path) == {}
    (tmp_path / "pyg" / "GraphLandDataset" / "hm-prices" / "raw").mkdir(parents=True)
    (one,) = graphland(tmp_path).values()
    assert (one.source, one.answer) == ("pyg:GraphLand/hm-prices", "value")
    kinds = GraphLandDataset.GRAPHLAND_DATASETS  # PyG's own list
    assert {n: "value" if k == "regression" else "class" for n, k in kinds.items()} == GRAPHLAND


def test_without_intervals_the_page_claims_nothing_but_says_who_is_ahead(tmp_path):
    lines = [record("Texas", 0, "find", 0.7), record("Texas", 0, "linear", 0.8)]
    lines += [record("Texas", 0, "majority", 0.5)]
    race = Race(written(tmp_path / "cells.jsonl", lines))
    text = " ".join(page.sentences(race))
    assert "No rival beats" not in text
    assert "clearly" not in text
    assert "ahead of `find`: linear on Texas (80.0 against 70.0)" in text
    assert race.gap("linear") == (pytest.approx(1 / 3), 1)


def test_scores_are_compared_on_the_same_splits(race):
    one_more = dict(race.records)
    one_more["Texas", 3, "lightgbm"] = record("Texas", 3, "lightgbm", 0.0)
    assert Race(one_more).test("Texas", "lightgbm") == race.test("Texas", "lightgbm")


def test_the_published_page_and_readme_follow_from_the_records():
    race = Race(ledger.read())
    readme = (ROOT / "README.md").read_text()
    assert page.with_sentence(readme, race) == readme, "run python -m benchmarks.rivals page"
    published = (ROOT / "docs" / "rivals.md").read_text()
    assert page.page(race) == published, "run python -m benchmarks.rivals page"


def test_the_picture_is_small():
    assert 0 < (ROOT / "docs" / "assets" / "rivals.png").stat().st_size < 300_000


def test_every_record_has_one_core_and_says_what_made_it():
    lines = (ROOT / "results" / "rivals" / "cells.jsonl").read_text().splitlines()
    for line in map(json.loads, lines):
        assert line["versions"]["threads"] == "1"
        assert {"numerics", "ladder", "revision", "data", "seconds"} <= line.keys()
        assert line["rival"] in RIVALS


def test_prose_of_the_page_holds_no_numbers_of_results():
    template = (ROOT / "benchmarks" / "rivals" / "page.md.jinja").read_text()
    assert not re.findall(r"\d\d\.\d", re.sub(r"arXiv [\d.]+", "", template))
