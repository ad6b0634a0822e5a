"""Raw files are believed only so far: what they unpack to is checked before memory is taken."""

import codecs
import gzip
import io
import lzma
import struct
import zipfile
import zlib
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np

from pgso.data.arrays import Array
from pgso.errors import InputError

UNPACKED = 2**28  # bytes that any file may unpack to: 256 MB
RATIO = 50  # and that many for each of its bytes, if that is more
DENSE = 2 * 10**8  # numbers in a dense matrix that we make ourselves: 800 MB
NODES = 3 * 10**5  # that an edge list may name, however short it is
NODES_PER_EDGE = 10  # and that many for each edge, if that is more
KIND = "a relation is a kind of edges: leave the column out if it names single edges"
MOST = {  # how many of these a file may have, and what to do
    "relations": (1_000, KIND),  # each is a graph of its own
    "columns": (20_000, "write a matrix of numbers to features.npy"),
    "columns of numbers": (50_000, "reduce them, such as by sklearn's TruncatedSVD"),
    "classes": (10_000, "is it the right column?"),  # a network has an output for each
    "labels": (10_000, "is it the right column?"),
    "targets": (1_000, "is it the right column?"),
}
TEXT = 2**30  # bytes of a table, which takes several times as much in memory
CELLS = 10**8  # of a Parquet table, which may be packed well
BROKEN = (
    # RuntimeError: encrypted; NotImplementedError: packed in a way that Python does not know.
    *(OSError, ValueError, EOFError, KeyError, RuntimeError, NotImplementedError, MemoryError),
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, OverflowError),
    *(SyntaxError, RecursionError, TokenError),  # numpy reads headers as Python's own literals
)


def check_unpacked(path: Path, size: int) -> int:
    """Refuse a file that holds far more than its own size; how many bytes it may hold."""
    limit = max(UNPACKED, RATIO * path.stat().st_size)
    if size > limit:
        sizes = f"{path} has {path.stat().st_size} bytes and holds more than {limit}"
        most = f"files may hold {UNPACKED >> 20} MB or {RATIO} times their size"
        raise InputError(f"{sizes}; {most}; unpack it, or check where it is from")
    return limit


def check_dense(rows: int, columns: int, what: str) -> None:
    """Refuse to spell out a matrix that is too large."""
    if rows * columns > DENSE:
        most = f"at most {DENSE} are spelt out: use fewer categories or nodes"
        raise InputError(f"{what} would be a matrix of {rows} x {columns} numbers; {most}")


def check_num_nodes(num_nodes: int, num_edges: int, where: Path) -> None:
    """Refuse node numbers out of all proportion to the edges: every number up to them is a node."""
    limit = max(NODES, NODES_PER_EDGE * num_edges)
    if num_nodes > limit:
        counts = f"{num_edges} edges and would have {num_nodes} nodes, at most {limit} are allowed"
        raise InputError(f"{where} has {counts}; number the nodes 0, 1, 2, ... without gaps")


def check_count(count: int, what: str, where: object) -> None:
    """Refuse more relations, columns, classes, labels or targets than can be meant."""
    limit, advice = MOST[what]
    if count > limit:
        raise InputError(f"{where} has {count:,} {what}, at most {limit:,} are allowed; {advice}")


def check_text_size(path: Path, cells: int = 0) -> None:
    """Refuse a table that would fill the memory."""
    size = path.stat().st_size
    if size > TEXT or cells > CELLS:
        sizes = f"{size:,} bytes{f' and {cells:,} cells' if cells else ''}"
        most = f"a table may have {TEXT:,} bytes and {CELLS:,} cells"
        advice = "write features as a matrix to features.npy, which is not read into memory"
        raise InputError(f"{path} has {sizes}; {most}: {advice}, or leave out rows")


def read_lines(path: Path, encoding: str = "utf-8") -> list[str]:
    """The lines of a text; blank ones at its end are left out."""
    return read_text(path, encoding).split("\n")


def read_text(path: Path, encoding: str = "utf-8") -> str:
    """A whole file, unpacked if it is a ``.gz``, without BOM, CR and blanks at its end."""
    try:
        if path.suffix == ".gz":
            with gzip.open(path) as file:
                content = file.read(check_unpacked(path, 0) + 1)
            check_unpacked(path, len(content))
        else:
            content = path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"there is no file {path}; it is needed here") from None
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} cannot be read ({error}); fetch or write it again") from None
    content = content.removeprefix(codecs.BOM_UTF8)
    if b"\0" in content[:4096]:
        if not content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise InputError(f"{path} is no text, it holds zero bytes; write or fetch it again")
        encoding = "utf-16"  # Excel's Unicode text
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        before = content[: error.start + 1].split(b"\n")
        problem = f"line {len(before)}: {before[-1][-20:]!r} is not {encoding.upper()} text"
        advice = f"save the file as {encoding.upper()} (in Excel: CSV UTF-8), or fetch it again"
        raise InputError(f"{path}, {problem}; {advice}") from None
    text = text.rstrip()
    if not text:
        raise InputError(f"{path} is empty; fetch or write it again")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_numbers(
    path: Path,
    dtype: Any,
    columns: int | None = None,  # by default as many as the first line has
    header: bool = False,  # whether the first line is skipped
) -> Array:  # (rows, columns)
    """A table of comma-separated numbers; ``.gz`` is unpacked."""
    lines = read_lines(path)[int(header) :]
    columns = columns or (lines[0].count(",") + 1 if lines else 1)
    check_unpacked(path, len(lines) * columns * np.dtype(dtype).itemsize)
    return parse_numbers(lines, dtype, columns, path, 1 + header)


def parse_numbers(
    lines: Sequence[str], dtype: Any, columns: int | None, path: Path, first_line: int = 1
) -> Array:  # (len(lines), columns)
    """The same from lines that were read already; errors name the path and the line."""
    columns = columns or (lines[0].count(",") + 1 if lines else 1)
    table = np.empty((0, columns), dtype)
    if any(lines):  # numpy would warn of nothing but blank lines
        with suppress(ValueError, OverflowError):  # the wrong line is named below
            table = np.loadtxt(lines, dtype=dtype, delimiter=",", comments=None, ndmin=2)
    if table.shape == (len(lines), columns):
        return table

    def fits(line: str) -> bool:
        try:
            return np.array(line.split(",")).astype(dtype).shape == (columns,)
        except (ValueError, OverflowError):
            return False

    kind = "whole numbers" if np.issubdtype(dtype, np.integer) else "numbers"
    wrong = next(k for k, line in enumerate(lines) if not fits(line))
    shown = lines[wrong] if len(lines[wrong]) < 60 else lines[wrong][:57] + "..."
    raise InputError(f"{path}, line {first_line + wrong}: expected {columns} {kind}, got {shown!r}")


def read_archive(
    path: Path, keys: Mapping[str, int] | None = None, words: Collection[str] = ()
) -> dict[str, Array]:
    """The arrays of an ``.npz``, or ``keys`` of so many dimensions: numbers, but for ``words``."""
    try:
        with path.open("rb") as file:
            if file.read(6) == b"\x93NUMPY":
                raise InputError(f"{path} is a single array; an .npz archive is needed")
        with zipfile.ZipFile(path) as archive:
            stored = [info for info in archive.infolist() if info.filename.endswith(".npy")]
            members = {info.filename.removesuffix(".npy"): info for info in stored}
            for key in keys or ():
                if key not in members:
                    raise InputError(f"{path} has no array {key!r}; it has {', '.join(members)}")
            wanted = {key: members[key] for key in (members if keys is None else keys)}
            check_unpacked(path, sum(info.file_size for info in wanted.values()))
            read = np.lib.format.read_array  # without pickles, and of no more bytes than there are
            arrays = {k: read(io.BytesIO(archive.read(v))) for k, v in wanted.items()}
    except InputError:
        raise
    except FileNotFoundError:
        raise InputError(f"there is no file {path}; it is needed here") from None
    except BROKEN as error:
        reason = "it holds pickled objects" if "allow_pickle" in str(error) else str(error)[:200]
        reason = reason or type(error).__name__
        raise InputError(f"{path} is no readable .npz archive ({reason}); fetch it again") from None
    for key, dimensions in (keys or {}).items():
        if arrays[key].ndim != dimensions:
            shape = f"{dimensions} dimensions, got {arrays[key].shape}"
            raise InputError(f"{path}: {key!r} must have {shape}")
        if key not in words and arrays[key].dtype.kind not in "biuf":
            raise InputError(f"{path}: {key!r} must hold numbers, got {arrays[key].dtype}")
    return arrays
