import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgso.data.raw import parse_numbers, read_lines, read_numbers
from pgso.errors import InputError


@pytest.mark.parametrize(
    "content",
    [b"1,2\n3,4\n", b"1,2\r\n3,4\r\n", b"\xef\xbb\xbf1,2\n3,4", b"1, 2\r3, 4\n\n"],
    ids=["plain", "CRLF", "BOM, no newline", "CR, spaces, blank end"],
)
def test_the_ways_to_write_a_table_read_alike(tmp_path, content):
    path = tmp_path / "table.txt"
    path.write_bytes(content)
    assert read_numbers(path, np.int64, 2).tolist() == [[1, 2], [3, 4]]
    packed = tmp_path / "table.csv.gz"
    packed.write_bytes(gzip.compress(content))
    assert read_numbers(packed, np.int64, 2).tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ("1,2\n3\n", "line 2: expected 2 whole numbers, got '3'"),
        ("1,2\n3,4,5\n", "line 2: expected 2 whole numbers, got '3,4,5'"),
        ("1,2\n3,x\n", "line 2: expected 2 whole numbers, got '3,x'"),
        ("1,2\n\n3,4\n", "line 2: expected 2 whole numbers, got ''"),
        ("1.5,2\n", "line 1"),
        ("1,99999999999999999999\n", "line 1"),
    ],
)
def test_a_wrong_line_is_named(tmp_path, content, place):
    path = tmp_path / "edges.txt"
    path.write_text(content)
    with pytest.raises(InputError, match=place) as caught:
        read_numbers(path, np.int64, 2)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.txt", b"", "is empty"),
        ("a.txt", b"\n\n", "is empty"),
        ("a.txt", b"1\n\xff\xfe", "line 2: .* is not UTF-8 text; save"),
        ("a.txt", b"1\n\xff\xfe\x00", "is no text, it holds zero bytes"),
        ("a.csv.gz", gzip.compress(b"1,2\n" * 99)[:-9], "cannot be read"),
        ("a.csv.gz", b"no gzip", "cannot be read"),
    ],
    ids=["empty", "blank", "other letters", "binary", "truncated", "not gzip"],
)
def test_what_is_no_text_is_refused(tmp_path, name, content, problem):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=problem):
        read_lines(tmp_path / name)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"there is no file .*nothing\.txt"):
        read_lines(tmp_path / "nothing.txt")


@given(st.lists(st.lists(st.integers(-(2**40), 2**40), min_size=3, max_size=3), min_size=1))
def test_integers_survive(rows):
    lines = [",".join(map(str, row)) for row in rows]
    assert parse_numbers(lines, np.int64, 3, None).tolist() == rows
