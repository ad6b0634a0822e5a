"""A task in numbers."""

import pytest
import torch

from pgso import Graph, RunSpec, Task, load_task
from pgso.data.description import component_sizes, describe


def test_the_columns_of_a_table_come_with_their_kinds_and_gaps():
    task = load_task("customers", size=300)
    data = describe(task, RunSpec(dataset="customers", data_options={"size": 300}))
    columns = {column.name: column for column in data.columns}
    assert columns["customer_id"].kind == "leave out"
    assert columns["contract"].kind == "category"
    assert columns["income"].missing > 0 == columns["age"].missing
    assert [c.train + c.val + c.test for c in data.classes] == [
        int((task.y == k).sum()) for k in range(2)
    ]
    assert data.num_labelled == int((task.y >= 0).sum()) < data.num_items == 300
    assert data.is_weighted


def test_gaps_are_counted_where_no_training_row_has_one(tmp_path):
    (tmp_path / "edges.csv").write_text("source,target\na,b\nb,c\nc,d\n")
    (tmp_path / "labels.csv").write_text("node,label\na,x\nb,y\nc,x\nd,y\n")
    (tmp_path / "splits.csv").write_text("node,split\na,train\nb,train\nc,val\nd,test\n")
    (tmp_path / "features.csv").write_text("node,age,height\na,1,5\nb,2,6\nc,,7\nd,,8\n")
    data = describe(load_task(tmp_path), RunSpec(dataset=str(tmp_path)))
    assert {column.name: column.missing for column in data.columns} == {"age": 2, "height": 0}


def test_components_degrees_and_isolated_nodes_are_counted():
    edges = torch.tensor([[0, 1, 2, 3, 3, 4], [1, 0, 3, 2, 4, 3]])
    graph = Graph.from_edge_index(edges, num_nodes=6)
    assert sorted(component_sizes(graph).tolist()) == [1, 2, 3]
    task = load_task("karate")
    data = describe(task, RunSpec(dataset="karate"))
    assert (data.components, data.largest_component, data.isolated) == (1, 34, 0)
    assert (data.degree_min, data.degree_median, data.degree_max) == (1, 3, 17)
    assert data.features == "none: every node has a column of its own"
    assert data.adjusted_homophily == pytest.approx(0.67, abs=0.15)


def test_numbers_have_a_range_and_links_have_no_classes():
    data = describe(load_task("diabetes"), RunSpec(dataset="diabetes"))
    (target,) = data.targets
    assert (target.low, target.high, target.known) == (25, 346, 442)
    assert data.classes == ()
    links = describe(load_task("karate", task="link"), RunSpec(dataset="karate", task="link"))
    assert links.num_items == links.num_train + links.num_val + links.num_test == 78
    assert links.adjusted_homophily is None


def test_several_labels_are_counted_one_by_one():
    from torch_geometric.data import Data

    y = torch.tensor([[1, 0], [1, 1], [0, 1], [1, 0], [0, 1], [1, 1]]).float()
    data = Data(edge_index=torch.tensor([[0, 1], [1, 0]]), y=y, num_nodes=6)
    task = Task.from_data(data)
    actual = describe(task, RunSpec(dataset="in memory"))
    counts = [entry.train + entry.val + entry.test for entry in actual.classes]
    assert counts == y.sum(dim=0).tolist()
