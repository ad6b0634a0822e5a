"""Customers whose reason to leave is known."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from pgso.data import load_task
from pgso.errors import InputError


def auc_of_features(task, x):
    train = task.train.numpy()
    rest = torch.cat([task.val, task.test]).numpy()
    model = LogisticRegression(max_iter=1000).fit(x[train], task.y[train])
    return roc_auc_score(task.y[rest], model.predict_proba(x[rest])[:, 1])


@pytest.mark.parametrize(
    ("signal", "own", "neighbours"),
    [
        ("features", True, False),
        ("graph", False, True),
        ("both", True, True),
        ("neither", False, False),
    ],
)
def test_the_signal_is_where_it_is_said_to_be(signal, own, neighbours):
    task = load_task("customers", signal=signal, size=10_000)
    x = task.x.numpy()
    source, target = task.graph.edge_index.numpy()
    heard = np.zeros_like(x)
    np.add.at(heard, target, x[source] * task.graph.edge_weight.numpy()[:, None])
    heard /= np.maximum(np.bincount(target, task.graph.edge_weight, len(x)), 1)[:, None]
    assert (auc_of_features(task, x) > 0.7) == own
    assert (auc_of_features(task, heard) > 0.7) == neighbours


def test_it_is_a_table_with_everything_that_tables_have():
    task = load_task("customers")
    assert (task.num_nodes, task.metric, task.classes) == (2000, "roc_auc", ("stays", "leaves"))
    kinds = {column.kind for column in task.preparation.columns}
    assert kinds == {"number", "boolean", "category", "date", "leave out"}
    assert task.preparation.columns[0].name == "customer_id"
    assert "looks like an id" in task.preparation.columns[0].became
    labelled = task.y[task.y >= 0]
    assert len(labelled) == 600
    assert 0.08 < labelled.float().mean() < 0.18
    assert not torch.equal(task.y, load_task("customers", seed=1).y)
    assert torch.equal(task.x, load_task("customers").x)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"signal": "luck"}, "signal must be one of both, features, graph, neither; got 'luck'"),
        ({"size": 10}, "size must be a whole number from 100 to 1,000,000"),
        ({"strength": -1.0}, "strength must lie between 0 and 100"),
    ],
)
def test_what_cannot_be_is_refused(options, problem):
    with pytest.raises(InputError, match=problem):
        load_task("customers", **options)
