import os
import pickle

import numpy as np
import pytest
import scipy.sparse

from pgso.data.pickles import read_matrix, read_pickle
from pgso.errors import InputError


class Runs:
    """Pickles to a call of any function."""

    def __init__(self, function, *args):
        self.call = function, args

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize("protocol", [0, 2, 4])
@pytest.mark.parametrize("nested", [False, True], ids=["bare", "in a dictionary"])
def test_a_pickle_that_would_run_a_command_is_refused_and_does_not(tmp_path, protocol, nested):
    mark = tmp_path / "it-ran"
    for function, args in ((os.system, (f"touch {mark}",)), (eval, (f"open({str(mark)!r}, 'w')",))):
        bomb = Runs(function, *args)
        (tmp_path / "bomb").write_bytes(pickle.dumps({0: [bomb]} if nested else bomb, protocol))
        with pytest.raises(InputError, match=r"it asks for .*\.(system|eval)"):
            read_pickle(tmp_path / "bomb")
    assert not mark.exists()


@pytest.mark.parametrize("protocol", [2, 4])
def test_matrices_survive(tmp_path, protocol):
    dense = np.array([[0, 1.5], [2, 0], [0, 0]], dtype=np.float32)
    for stored in (dense, scipy.sparse.csr_matrix(dense)):
        (tmp_path / "matrix").write_bytes(pickle.dumps(stored, protocol))
        assert np.array_equal(read_matrix(tmp_path / "matrix").toarray(), dense)


def broken(**parts):
    matrix = scipy.sparse.csr_matrix(np.eye(3, dtype=np.float32))
    for name, value in parts.items():
        setattr(matrix, name, value)
    return matrix


@pytest.mark.parametrize(
    "stored",
    [
        broken(indices=np.array([0, 1, 7], dtype=np.int32)),
        broken(indices=np.array([0, 1, -1], dtype=np.int32)),
        broken(indptr=np.array([0, 3, 1, 3], dtype=np.int32)),
        broken(indptr=np.array([0, 1, 2, 9], dtype=np.int32)),
        broken(data=np.array([1, 2], dtype=np.float32)),
        broken(data=np.array(["a", "b", "c"], dtype=object)),
        broken(_shape=(3,)),
        np.array([1, 2]),
        np.array([["a"]]),
        {"a": 1},
        None,
    ],
)
def test_a_broken_matrix_is_refused(tmp_path, stored):
    (tmp_path / "matrix").write_bytes(pickle.dumps(stored, 2))
    with pytest.raises(InputError, match="matrix"):
        read_matrix(tmp_path / "matrix")


def test_every_truncated_pickle_is_refused(tmp_path):
    whole = pickle.dumps(scipy.sparse.csr_matrix(np.eye(4)), 2)
    for length in range(0, len(whole) - 1, 7):
        (tmp_path / "matrix").write_bytes(whole[:length])
        with pytest.raises(InputError, match="matrix"):
            read_matrix(tmp_path / "matrix")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match="there is no file"):
        read_pickle(tmp_path / "nothing")
