import numpy as np
import pytest

from pgso.data.raw import read_archive
from pgso.errors import InputError


def test_arrays_survive(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.eye(2), y=np.arange(2), more=np.ones(1))
    assert sorted(read_archive(tmp_path / "a.npz")) == ["more", "x", "y"]
    assert sorted(read_archive(tmp_path / "a.npz", {"x": 2, "y": 1})) == ["x", "y"]


def test_pickled_objects_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.array([{"a": 1}], dtype=object))
    with pytest.raises(InputError, match="it holds pickled objects"):
        read_archive(tmp_path / "a.npz")


def test_a_missing_array_is_named_with_those_there(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.eye(2))
    with pytest.raises(InputError, match="has no array 'y'; it has x"):
        read_archive(tmp_path / "a.npz", {"y": 1})


def test_a_wrong_number_of_dimensions_is_refused(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.eye(2))
    with pytest.raises(InputError, match="'x' must have 1 dimensions"):
        read_archive(tmp_path / "a.npz", {"x": 1})


def test_truncated_empty_and_other_files_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.random.default_rng(0).normal(size=(50, 50)))
    whole = (tmp_path / "a.npz").read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 255
    for content in (b"", b"no zip", whole[: len(whole) // 2], whole[:-30], bytes(flipped)):
        (tmp_path / "b.npz").write_bytes(content)
        with pytest.raises(InputError, match=r"b\.npz is no readable \.npz archive"):
            read_archive(tmp_path / "b.npz")
    np.save(tmp_path / "c.npy", np.eye(2))
    with pytest.raises(InputError, match="single array"):
        read_archive(tmp_path / "c.npy")
    with pytest.raises(InputError, match="there is no file"):
        read_archive(tmp_path / "nothing.npz")
