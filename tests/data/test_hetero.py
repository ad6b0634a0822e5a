"""HeteroData become one graph whose edges have relations."""

import pytest
import torch
from torch_geometric.data import HeteroData

import pgso
from pgso.data import Task
from pgso.errors import InputError, UnknownNameError
from pgso.training.fit import fit_task

N, M = 60, 20


def films():
    """Users like the films of their own kind; the film's features say which kind it is."""
    random = torch.Generator().manual_seed(0)
    data, kind = HeteroData(), torch.arange(N) % 2
    data["film"].x = torch.nn.functional.one_hot(torch.arange(M) % 2, 2).float()
    data["user"].x = torch.randn(N, 3, generator=random)
    data["user"].y = kind
    chosen = 2 * torch.randint(0, M // 2, (N,), generator=random) + kind
    data["film", "liked_by", "user"].edge_index = torch.stack([chosen, torch.arange(N)])
    data["user", "knows", "user"].edge_index = torch.randint(0, N, (2, 90), generator=random)
    return data


def test_targets_come_first_and_each_type_has_columns_of_its_own():
    data = films()
    task = Task.from_data(data)
    assert (task.num_nodes, task.num_features, task.classes) == (N + M, 5, ("0", "1"))
    x = task.x if task.x.layout == torch.strided else task.x.to_dense()
    wanted = torch.block_diag(data["user"].x, data["film"].x)
    torch.testing.assert_close(x, wanted)
    assert task.y.tolist() == [*data["user"].y.tolist(), *[-1] * M]
    assert torch.cat([task.train, task.val, task.test]).max() < N


def test_types_of_edges_are_relations_between_all_nodes():
    data = films()
    data["film", "liked_by", "user"].edge_weight = torch.full((N,), 2.0)
    relations = Task.from_data(data).relations
    assert list(relations.graphs) == ["liked_by", "knows"]
    liked = relations.graphs["liked_by"]
    chosen = data["film", "liked_by", "user"].edge_index[0]
    assert liked.edge_index.tolist() == [(chosen + N).tolist(), list(range(N))]
    assert liked.edge_weight.tolist() == [2.0] * N
    assert Task.from_data(data).graph.edge_weight is not None


def test_a_bank_has_an_operator_to_read_for_each_relation():
    spec = pgso.RunSpec(
        dataset="in memory", conv="bank", terms=("self", "mean@liked_by", "mean@knows"), epochs=30
    )
    session, record = fit_task(spec, Task.from_data(films()))
    assert [gso.edges for gso in session.model.operators] == ["liked_by", "knows"]
    assert len(record.parameters) == 2
    assert record.parameters[0] != record.parameters[1]
    assert record.test == 1.0  # the films tell
    with pytest.raises(UnknownNameError, match="no relation is called 'likes'"):
        fit_task(spec.but(terms=("mean@likes",)), Task.from_data(films()))


def test_masks_answers_and_numbers_are_those_of_the_target_type():
    data = films()
    for place, name in enumerate(("train_mask", "val_mask", "test_mask")):
        data["user"][name] = torch.arange(N) % 3 == place
    assert Task.from_data(data).val.tolist() == list(range(1, N, 3))
    data["user"].y = torch.rand(N)
    task = Task.from_data(data)
    assert task.targets == ("y",)
    assert task.y[N:].isnan().all()
    data["film"].y = torch.arange(M) % 2
    with pytest.raises(InputError, match=r"several types of nodes have answers \(film, user\)"):
        Task.from_data(data)
    assert Task.from_data(data, target="film").y[:M].tolist() == [0, 1] * (M // 2)
    with pytest.raises(UnknownNameError, match="no type of nodes is called 'films'"):
        Task.from_data(data, target="films")


def test_a_type_without_features_has_a_column_of_ones():
    data = films()
    del data["film"].x
    data["film"].num_nodes = M
    task = Task.from_data(data)
    x = task.x if task.x.layout == torch.strided else task.x.to_dense()
    assert x[:, 3].tolist() == [0.0] * N + [1.0] * M


def test_one_type_of_nodes_keeps_its_relations():
    data = HeteroData()
    data["user"].x, data["user"].y = torch.rand(12, 3), torch.arange(12) % 2
    edges = torch.tensor([[0, 1, 2], [1, 2, 3]])
    data["user", "knows", "user"].edge_index = edges
    data["user", "in", "user"].edge_index = edges
    assert list(Task.from_data(data).relations.graphs) == ["knows", "user-in-user"]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda data: data["user"].pop("y"), "none of the types of nodes .* has answers"),
        (lambda data: data["user"].update({"y": torch.zeros(3)}), "3 answers, but there are 60"),
        (lambda data: data["user", "knows", "user"].pop("edge_index"), "need an edge_index"),
    ],
)
def test_what_is_missing_is_said(change, problem):
    data = films()
    change(data)
    with pytest.raises(InputError, match=problem):
        Task.from_data(data)


def test_edges_stay_within_the_nodes_of_their_types():
    data = films()
    data["user", "knows", "user"].edge_index = torch.tensor([[0, N], [1, 2]])
    with pytest.raises(InputError, match=f"a node of type 'user' is {N}, .* 0 and {N - 1}"):
        Task.from_data(data)
