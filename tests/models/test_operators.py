"""A table of the operators of any model."""

import math

import pytest
import torch
from torch import nn
from torch_geometric import nn as pyg

from pgso import GNN, PGSO, PRESETS, BankConv, Graph, Relations, convert, operators
from pgso.errors import InputError
from pgso.spectrum import interval

PATH = Graph.of([[0, 1, 1, 2], [1, 0, 2, 1]])


@pytest.mark.parametrize(
    "model", [GNN("gcn", 4, 8, 2), convert(pyg.GCN(4, 8, num_layers=2, out_channels=2))]
)
def test_layers_that_share_S_have_one_number(model):
    table = operators(model, PATH)
    assert table.operator.tolist() == [0, 0]
    assert len(set(table.layer)) == 2
    assert set(table.layer) <= {name for name, _ in model.named_modules()}
    assert table.nearest.tolist() == ["gcn", "gcn"]
    low, high = interval(PGSO("gcn", learn=False).on(PATH))
    assert table.low[0] == pytest.approx(float(low))
    assert table.high[1] == pytest.approx(float(high))


def test_every_operator_has_the_S_of_this_moment_and_the_names_that_learn():
    model = GNN("gcn", 4, 8, 2, operator="mpgso", learn=("m2", "a"))
    with torch.no_grad():
        model.operators[1].m2.fill_(0.5)
    table = operators(model, PATH)
    assert table.m2.tolist() == [1.0, 0.5]
    assert set(table.learns) == {"m2,a"}
    assert table.operator.tolist() == [0, 1]


def test_a_layer_of_several_operators_has_a_row_for_each():
    bank = operators(BankConv(4, 2, terms=("self", "gcn", "mean@out")), PATH)
    assert bank.nearest.tolist() == ["gcn", "mean"]
    hops = operators(convert(pyg.SGConv(4, 2, K=3), operator="mpgso"), PATH)
    assert hops.operator.tolist() == [0, 1, 2]
    assert set(hops.layer) == {""}


def test_an_operator_of_one_relation_is_that_of_its_edges():
    bank = BankConv(4, 2, terms=("gcn@likes", "mean@out"))
    relations = Relations({"likes": PATH, "knows": torch.tensor([[0, 1], [2, 2]])})
    table = operators(bank, relations)
    assert table.nearest.tolist() == operators(bank).nearest.tolist() == ["gcn", "mean"]
    low, _ = interval(PGSO("gcn", learn=False).on(PATH))
    assert table.low[0] == pytest.approx(float(low))
    assert math.isnan(table.low[1])


def test_without_a_graph_and_on_a_directed_one_there_is_no_interval():
    for graph in (None, torch.tensor([[0, 1, 2], [2, 2, 1]])):
        table = operators(nn.Sequential(nn.Linear(2, 2), PGSO(PRESETS["mean"])), graph)
        assert math.isnan(table.low[0])
        assert table.nearest[0] == "mean"
        assert table.layer[0] == "1"


def test_a_model_without_operators_is_refused():
    with pytest.raises(InputError, match="no operator in this Linear"):
        operators(nn.Linear(2, 2))
    with pytest.raises(InputError, match="takes a torch module, got str"):
        operators("gcn")
