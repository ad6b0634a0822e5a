"""Numbers from text files, plain or gzipped: what cannot be read is named with file and line."""

import gzip
import io
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np

from pgso.data.arrays import Array
from pgso.data.limits import check_unpacked, unpacked_limit
from pgso.errors import InputError

BLOCK = 2**16  # lines that are turned into numbers together
CHUNK = 2**20  # bytes that are unpacked together


class _Limited(io.RawIOBase):
    """A stream that ends in an error when more comes out than the file is believed to hold."""

    def __init__(self, path: Path, stream: BinaryIO) -> None:
        self.path, self.stream, self.seen = path, stream, 0
        self.limit = unpacked_limit(path)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        chunk = self.stream.read(len(buffer))
        buffer[: len(chunk)] = chunk
        self.seen += len(chunk)
        if self.seen > self.limit:
            check_unpacked(self.path, self.seen)
        return len(chunk)


@contextmanager
def _opened(path: Path, encoding: str) -> Iterator[io.TextIOWrapper]:
    """A text file, unpacked on the way; what goes wrong is one sentence."""
    try:
        with (
            path.open("rb") as raw,
            gzip.open(raw) if path.suffix == ".gz" else raw as stream,
            io.BufferedReader(_Limited(path, cast(BinaryIO, stream)), CHUNK) as limited,
            io.TextIOWrapper(limited, encoding=encoding) as text,
        ):
            yield text
    except FileNotFoundError:
        raise InputError(f"there is no file {path}; it is needed here") from None
    except UnicodeDecodeError:
        raise InputError(_not_text(path, encoding)) from None
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} cannot be read ({error}); fetch or write it again") from None


def _lines(path: Path, encoding: str = "utf-8-sig") -> Iterator[str]:
    """Line by line; blank ones at the end are left out."""
    blank, some = 0, False
    with _opened(path, encoding) as text:
        for line in text:
            if not line.strip():
                blank += 1
                continue
            for _ in range(blank):
                yield ""
            blank, some = 0, True
            yield line.removesuffix("\n")
    if not some:
        raise InputError(f"{path} is empty; fetch or write it again")


def read_text(path: Path) -> str:
    """A whole file in UTF-8, without blank lines at its end."""
    with _opened(path, "utf-8-sig") as content:
        text = content.read().rstrip()
    if not text:
        raise InputError(f"{path} is empty; write at least one line")
    return text


def _not_text(path: Path, encoding: str) -> str:
    """The first line that is not written in the encoding, as a sentence."""
    where = ""
    if path.suffix != ".gz":
        for number, line in enumerate(path.read_bytes().split(b"\n"), start=1):
            try:
                line.decode(encoding)
            except UnicodeDecodeError as error:
                where = f", line {number}: {line[: error.start + 1][-20:]!r}"
                break
    name = "UTF-8" if encoding == "utf-8-sig" else encoding
    return f"{path}{where} is not {name} text; save the file as {name}, or fetch it again"


def read_lines(path: Path, encoding: str = "utf-8-sig") -> list[str]:
    """The lines of a file, by default in UTF-8, with or without BOM, CR and a last newline."""
    return list(_lines(path, encoding))


def read_numbers(
    path: Path,
    dtype: Any,
    columns: int | None = None,
    header: bool = False,
) -> Array:  # (rows, columns)
    """A table of comma-separated numbers, read in blocks of lines.

    Args:
        path: The file; ``.gz`` is unpacked on the way.
        dtype: numpy's type of the numbers.
        columns: How many a line has; by default as many as the first one.
        header: Whether the first line is skipped.
    """
    lines = _lines(path)
    first_line = 1 + len(list(islice(lines, int(header))))
    blocks: list[Array] = []
    while block := list(islice(lines, BLOCK)):
        blocks.append(parse_numbers(block, dtype, columns, path, first_line))
        columns, first_line = blocks[0].shape[1], first_line + len(block)
        check_unpacked(path, sum(part.nbytes for part in blocks))
    return np.concatenate(blocks) if blocks else np.empty((0, columns or 1), dtype)


def parse_numbers(
    lines: Sequence[str], dtype: Any, columns: int | None, path: Path, first_line: int = 1
) -> Array:  # (len(lines), columns)
    """The same from lines that were read already; errors name the path and the line."""
    columns = columns or (lines[0].count(",") + 1 if lines else 1)
    if not lines:
        return np.empty((0, columns), dtype)
    try:
        if not any(lines):
            raise ValueError("nothing but blank lines, of which numpy would warn")
        table = np.loadtxt(lines, dtype=dtype, delimiter=",", comments=None, ndmin=2)
    except (ValueError, OverflowError):
        table = np.empty((0, 0))
    if table.shape != (len(lines), columns):
        raise _first_wrong_line(lines, dtype, columns, path, first_line)
    return table


def _first_wrong_line(
    lines: Sequence[str], dtype: Any, columns: int, path: Path, first_line: int
) -> InputError:
    kind = "whole numbers" if np.issubdtype(dtype, np.integer) else "numbers"
    wrong = next(k for k, line in enumerate(lines) if not _fits(line, dtype, columns))
    shown = lines[wrong] if len(lines[wrong]) < 60 else lines[wrong][:57] + "..."
    return InputError(
        f"{path}, line {first_line + wrong}: expected {columns} {kind}, got {shown!r}"
    )


def _fits(line: str, dtype: Any, columns: int) -> bool:
    try:
        return np.array(line.split(",")).astype(dtype).shape == (columns,)
    except (ValueError, OverflowError):
        return False
