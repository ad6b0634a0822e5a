import numpy as np
import pandas as pd
import pytest
import torch

from pgso import PGSOClassifier, PGSOFeatures, shift
from pgso.data.inputs import read_features, read_graph, read_labels
from pgso.errors import InputError


def test_sparse_tensors_are_features_too():
    dense = torch.tensor([[0.0, 2.0], [3.0, 0.0]])
    for X in (dense.to_sparse_csr(), dense.to_sparse()):
        assert read_features(X).toarray().tolist() == dense.tolist()


def test_a_type_that_numpy_does_not_have_is_read():
    dense = torch.tensor([[0.0, 2.0], [3.0, 0.0]], dtype=torch.bfloat16)
    assert read_features(dense).tolist() == dense.tolist()
    assert read_features(dense.to_sparse()).toarray().tolist() == dense.tolist()


class Table(np.ndarray):
    """An array whose columns have names, as a DataFrame's do."""

    columns: tuple[str, ...]

    @classmethod
    def of(cls, values, columns):
        table = np.asarray(values, dtype=float).view(cls)
        table.columns = columns
        return table


PATH = np.array([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]])
X = Table.of([[1, 2], [3, 4], [5, 6], [7, 8]], ("age", "height"))
TURNED = Table.of(np.asarray(X)[:, ::-1], ("height", "age"))


def test_columns_in_another_order_are_refused():
    classifier = PGSOClassifier(epochs=1).fit(PATH, X, [0, 1, 0, 1])
    features = PGSOFeatures().fit(PATH, X)
    for estimator, call in ((classifier, classifier.predict), (features, features.transform)):
        assert estimator.feature_names_in_.tolist() == ["age", "height"]
        call(PATH, X)
        call(PATH, np.asarray(X))  # without names there is nothing to compare
        with pytest.raises(InputError, match="age, height; got height, age"):
            call(PATH, TURNED)
    assert not hasattr(features.fit(PATH, np.asarray(X)), "feature_names_in_")


def test_what_comes_out_has_names():
    features = PGSOFeatures(hops=np.int64(2)).fit(PATH, X)
    names = ["age", "height", "age_hop1", "height_hop1", "age_hop2", "height_hop2"]
    assert features.get_feature_names_out().tolist() == names
    assert features.transform().shape[1] == len(names)
    assert PGSOFeatures(hops=1).fit(PATH).get_feature_names_out().tolist() == ["x0", "x0_hop1"]
    with pytest.raises(InputError, match="2 names are needed, got 1"):
        features.get_feature_names_out(["one"])


def test_pandas_way_to_say_unknown_is_understood():
    classes, codes = read_labels(np.array(["b", pd.NA, "a", pd.NaT, None], dtype=object))
    assert classes.tolist() == ["a", "b"]
    assert codes.tolist() == [1, -1, 0, -1, -1]


def test_a_square_matrix_is_an_adjacency_matrix_and_two_rows_are_edges():
    A = np.array([[0.0, 2.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    for given in (A, torch.from_numpy(A), torch.from_numpy(A).to_sparse(), A.tolist()):
        graph = read_graph(given, 3)
        np.testing.assert_array_equal(shift(graph, "adjacency").to_dense(), A)
    assert read_graph([[0, 1], [1, 0]], 5).num_edges == 2
    with pytest.raises(InputError, match="the graph has 3 nodes, but there are 4 rows"):
        read_graph(A, 4)


def test_nan_among_words_is_unknown():
    classes, codes = read_labels(["b", float("nan"), "a"])
    assert classes.tolist() == ["a", "b"]
    assert codes.tolist() == [1, -1, 0]
