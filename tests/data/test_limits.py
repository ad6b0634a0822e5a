"""Small files that claim or unpack to much are refused before memory is taken."""

import gzip
import io
import zipfile

import numpy as np
import pytest

from pgso.data import load_task
from pgso.data import raw as limits
from pgso.data.raw import read_archive, read_lines, read_numbers
from pgso.errors import InputError


@pytest.fixture(autouse=True)
def low_limits(monkeypatch):
    monkeypatch.setattr(limits, "UNPACKED", 2**16)


@pytest.mark.parametrize("read", [read_lines, lambda path: read_numbers(path, np.int64)])
def test_a_packed_table_is_not_unpacked_beyond_the_limit(tmp_path, read):
    path = tmp_path / "table.csv.gz"
    path.write_bytes(gzip.compress(b"0\n" * 10**6))
    with pytest.raises(InputError, match="holds more than"):
        read(path)


def test_numbers_larger_than_their_text_count_too(tmp_path):
    path = tmp_path / "table.csv.gz"
    path.write_bytes(gzip.compress(b"0\n" * 30_000))  # 60 KB of text, 240 KB of numbers
    with pytest.raises(InputError, match="holds more than"):
        read_numbers(path, np.int64)
    assert len(read_lines(path)) == 30_000


def test_a_packed_archive_is_not_unpacked_beyond_the_limit(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", x=np.zeros(10**6))
    with pytest.raises(InputError, match="holds more than"):
        read_archive(tmp_path / "a.npz")


def test_an_array_must_be_as_large_as_its_header_says(tmp_path):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": (10**12,)}
    )
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("x.npy", header.getvalue() + bytes(8))
    with pytest.raises(InputError, match=r"is no readable \.npz archive"):
        read_archive(tmp_path / "a.npz")


def test_encrypted_and_strangely_packed_archives_are_one_sentence(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.zeros(3))
    whole = bytearray((tmp_path / "a.npz").read_bytes())
    directory = whole.index(b"PK\x01\x02")
    for place, value in ((8, 1), (10, 77)):  # the flag of encryption, the way of packing
        changed = bytearray(whole)
        changed[directory + place] = value
        changed[place - 2] = value  # in the header of the member as well
        (tmp_path / "b.npz").write_bytes(bytes(changed))
        with pytest.raises(InputError, match=r"no readable \.npz archive"):
            read_archive(tmp_path / "b.npz")


def test_words_where_numbers_are_needed_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", labels=np.array(["a", "b"]))
    with pytest.raises(InputError, match="'labels' must hold numbers"):
        read_archive(tmp_path / "a.npz", {"labels": 1})
    assert len(read_archive(tmp_path / "a.npz", {"labels": 1}, words=("labels",))) == 1


def test_a_matrix_of_too_many_columns_is_refused_before_it_is_read(tmp_path):
    (tmp_path / "edges.csv").write_text("0,1\n1,2\n")
    (tmp_path / "labels.csv").write_text("a\nb\na\n")
    np.lib.format.open_memmap(
        tmp_path / "features.npy", mode="w+", dtype=np.float32, shape=(3, 10**8)
    )  # sparse on disk
    with pytest.raises(InputError, match="has 100,000,000 columns of numbers, at most 50,000"):
        load_task(tmp_path)
