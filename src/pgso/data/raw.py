"""Raw files are believed only so far: what they unpack to is checked before memory is taken."""

import gzip
import io
import lzma
import math
import struct
import zipfile
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from tokenize import TokenError
from typing import Any, BinaryIO, cast

import numpy as np

from pgso.data.arrays import Array
from pgso.errors import InputError

UNPACKED = 2**28  # bytes that any file may unpack to: 256 MB
RATIO = 50  # and that many for each of its bytes, if that is more
DENSE = 2 * 10**8  # numbers in a dense matrix that we make ourselves: 800 MB
NODES = 3 * 10**5  # that an edge list may name, however short it is
NODES_PER_EDGE = 10  # and that many for each edge, if that is more

RELATIONS = 1_000  # kinds of edges: each is a graph of its own
MOST = {  # how many of these a file may have, and what to do
    "relations": (
        RELATIONS,
        "a relation is a kind of edges: leave the column out if it names single edges",
    ),
    "columns": (20_000, "write a matrix of numbers to features.npy"),
    "classes": (10_000, "is it the right column?"),  # a network has an output for each
    "labels": (10_000, "is it the right column?"),
    "targets": (1_000, "is it the right column?"),
}
TEXT = 2**30  # bytes of a table, which takes several times as much in memory
CELLS = 10**8  # of a Parquet table, which may be packed well


def unpacked_limit(path: Path) -> int:
    """How many bytes may come out of a file."""
    return max(UNPACKED, RATIO * path.stat().st_size)


def check_unpacked(path: Path, size: int) -> None:
    """Refuse a file that holds far more than its own size."""
    limit = unpacked_limit(path)
    if size > limit:
        raise InputError(
            f"{path} has {path.stat().st_size} bytes and holds more than {limit}; files may hold "
            f"{UNPACKED >> 20} MB or {RATIO} times their size; unpack it, or check where it is from"
        )


def check_dense(rows: int, columns: int, what: str) -> None:
    """Refuse to spell out a matrix that is too large."""
    if rows * columns > DENSE:
        raise InputError(
            f"{what} would be a matrix of {rows} x {columns} numbers; at most {DENSE} are spelt "
            "out: use fewer categories or nodes"
        )


def check_num_nodes(num_nodes: int, num_edges: int, where: Path) -> None:
    """Refuse node numbers out of all proportion to the edges: every number up to them is a node."""
    limit = max(NODES, NODES_PER_EDGE * num_edges)
    if num_nodes > limit:
        raise InputError(
            f"{where} has {num_edges} edges and would have {num_nodes} nodes, at most {limit} are "
            "allowed; number the nodes 0, 1, 2, ... without gaps"
        )


def check_count(count: int, what: str, where: object) -> None:
    """Refuse more relations, columns, classes, labels or targets than can be meant."""
    limit, advice = MOST[what]
    if count > limit:
        raise InputError(f"{where} has {count:,} {what}, at most {limit:,} are allowed; {advice}")


def check_text_size(path: Path, cells: int = 0) -> None:
    """Refuse a table that would fill the memory."""
    size = path.stat().st_size
    if size > TEXT or cells > CELLS:
        raise InputError(
            f"{path} has {size:,} bytes{f' and {cells:,} cells' if cells else ''}; a table may "
            f"have {TEXT:,} bytes and {CELLS:,} cells: write features as a matrix to features.npy, "
            "which is not read into memory, or leave out rows"
        )


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


BROKEN = (
    # RuntimeError: encrypted; NotImplementedError: packed in a way that Python does not know.
    *(OSError, ValueError, EOFError, KeyError, RuntimeError, NotImplementedError, MemoryError),
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, OverflowError),
    *(SyntaxError, RecursionError, TokenError),  # numpy reads headers as Python's own literals
)


def read_archive(
    path: Path, keys: Mapping[str, int] | None = None, words: Collection[str] = ()
) -> dict[str, Array]:
    """The arrays of an ``.npz`` file.

    Args:
        path: The file.
        keys: Which arrays are needed, and their number of dimensions; by default, all there are.
            Others may be there and are not looked at.
        words: Which of the needed arrays hold words; the others hold numbers.
    """
    try:
        with path.open("rb") as file:
            if file.read(6) == b"\x93NUMPY":
                raise InputError(f"{path} is a single array; an .npz archive is needed")
        with zipfile.ZipFile(path) as archive:
            members = {
                info.filename.removesuffix(".npy"): info
                for info in archive.infolist()
                if info.filename.endswith(".npy")
            }
            for key in keys or ():
                if key not in members:
                    raise InputError(f"{path} has no array {key!r}; it has {', '.join(members)}")
            wanted = {key: members[key] for key in (members if keys is None else keys)}
            check_unpacked(path, sum(info.file_size for info in wanted.values()))
            arrays = {key: _read(archive, info) for key, info in wanted.items()}
    except InputError:
        raise
    except FileNotFoundError:
        raise InputError(f"there is no file {path}; it is needed here") from None
    except BROKEN as error:
        reason = str(error)[:200] or type(error).__name__
        raise InputError(f"{path} is no readable .npz archive ({reason}); fetch it again") from None
    for key, dimensions in (keys or {}).items():
        if arrays[key].ndim != dimensions:
            raise InputError(
                f"{path}: {key!r} must have {dimensions} dimensions, got {arrays[key].shape}"
            )
        if key not in words and arrays[key].dtype.kind not in "biuf":
            raise InputError(f"{path}: {key!r} must hold numbers, got {arrays[key].dtype}")
    return arrays


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Array:
    with archive.open(info) as stream:
        version = np.lib.format.read_magic(stream)
        if version == (1, 0):
            shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
        elif version == (2, 0):
            shape, _, dtype = np.lib.format.read_array_header_2_0(stream)
        else:
            raise ValueError(f"an array of version {version}")
        if dtype.hasobject:
            raise ValueError("it holds pickled objects")
        claimed = math.prod(shape) * dtype.itemsize
        if min(shape, default=0) < 0 or claimed != info.file_size - stream.tell():
            raise ValueError(f"{info.filename} is not as large as its shape {shape} says")
    with archive.open(info) as stream:
        array: Array = np.lib.format.read_array(stream, allow_pickle=False)
    return array
