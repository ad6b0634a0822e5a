import pytest
import torch

from pgso.data import load_task
from pgso.errors import InputError


def test_it_has_the_published_counts():
    task = load_task("minesweeper")
    assert (task.num_nodes, task.num_edges // 2, task.num_features) == (10_000, 39_402, 7)
    assert task.metric == "roc_auc"
    assert int(task.y.sum()) == 2_000
    assert int(task.x[:, 0].sum()) == 5_000
    assert [len(part) for part in (task.train, task.val, task.test)] == [5_000, 2_500, 2_500]


def test_a_cell_that_shows_its_count_tells_the_truth():
    task = load_task("minesweeper", rows=8, cols=11, mines=0.4, hidden=0.3, seed=5)
    around = task.graph.to_torch_sparse().to_dense() @ task.y.float()
    shown = task.x.argmax(1) - 1
    open_ = shown >= 0
    assert torch.equal(shown[open_], around.long().clamp(max=5)[open_])


def test_neighbours_are_those_of_a_king():
    degree = load_task("minesweeper", rows=4, cols=5).graph.degree.reshape(4, 5)
    assert degree[0].tolist() == [3, 5, 5, 5, 3]
    assert degree[1].tolist() == [5, 8, 8, 8, 5]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"rows": 1}, "rows must be a whole number from 2 on"),
        ({"cols": 2.5}, "cols must be"),
        ({"mines": 0}, "mines and hidden must be shares"),
        ({"hidden": 2}, "mines and hidden must be shares"),
    ],
)
def test_wrong_options_are_refused(options, problem):
    with pytest.raises(InputError, match=problem):
        load_task("minesweeper", **options)
