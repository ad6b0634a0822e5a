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


def test_an_array_cannot_be_laid_over_bytes_of_the_file(tmp_path):
    # As published against the loader: an object array whose "pointers" are the file's own bytes.
    for stored in (
        Runs(np.ndarray, (1,), np.dtype("f8")),
        Runs(np.ndarray, (1,), np.dtype("O"), b"AAAAAAAA"),
        {0: Runs(np.ndarray, (1,), np.dtype("O"), b"AAAAAAAA")},
    ):
        (tmp_path / "crafted").write_bytes(pickle.dumps(stored, 2))
        with pytest.raises(InputError, match="no pickle of arrays"):
            read_pickle(tmp_path / "crafted")


@pytest.mark.parametrize(
    "array",
    [
        np.array([None], dtype=object),
        np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]),
        np.array(["2020-01-01"], dtype="M8[D]"),
        np.array([1j]),
    ],
    ids=["objects", "fields", "dates", "complex"],
)
def test_only_plain_types_are_admitted(tmp_path, array):
    (tmp_path / "array").write_bytes(pickle.dumps(array, 2))
    with pytest.raises(InputError, match="no pickle of arrays"):
        read_pickle(tmp_path / "array")


@pytest.mark.parametrize("order", "<>")
def test_either_byte_order_and_orders_of_memory_are_read(tmp_path, order):
    for stored in (np.arange(6.0).reshape(2, 3), np.asfortranarray(np.arange(6.0).reshape(2, 3))):
        array = stored.astype(f"{order}f8", order="K")
        (tmp_path / "array").write_bytes(pickle.dumps(array, 2))
        assert np.array_equal(read_pickle(tmp_path / "array"), stored)


def test_a_claimed_shape_must_fit_the_bytes(tmp_path):
    whole = pickle.dumps(np.zeros(3), 2)
    assert whole.count(b"K\x03\x85") == 1  # the shape (3,)
    larger = whole.replace(b"K\x03\x85", b"J\xff\xff\xff\x7f\x85")
    (tmp_path / "array").write_bytes(larger)
    with pytest.raises(InputError, match="does not fit its shape"):
        read_pickle(tmp_path / "array")


def test_bytes_cannot_be_multiplied(tmp_path):
    # One text of 10,000 letters, encoded a thousand times, would be 10 MB from 16 KB.
    encode = b"c_codecs\nencode\n"
    text = b"X" + (10_000).to_bytes(4, "little") + b"a" * 10_000 + b"q\x01"
    again = encode + b"h\x01X\x06\x00\x00\x00latin1\x86R0"
    (tmp_path / "bytes").write_bytes(b"\x80\x02" + text + b"0" + again * 1000 + b"N.")
    with pytest.raises(InputError, match="repeats its bytes"):
        read_pickle(tmp_path / "bytes")


def test_deep_keys_are_refused_before_they_are_hashed(tmp_path):
    # hash() of a tuple in a tuple in a tuple ... overflows the stack of the process.
    deep = b"\x80\x02})" + b"\x85" * 200_000 + b"K\x01s."
    (tmp_path / "deep").write_bytes(deep)
    with pytest.raises(InputError, match="keys that are neither"):
        read_pickle(tmp_path / "deep")
