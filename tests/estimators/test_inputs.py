import torch

from pgso.estimators.inputs import read_features


def test_sparse_tensors_are_features_too():
    dense = torch.tensor([[0.0, 2.0], [3.0, 0.0]])
    for X in (dense.to_sparse_csr(), dense.to_sparse()):
        assert read_features(X).toarray().tolist() == dense.tolist()
