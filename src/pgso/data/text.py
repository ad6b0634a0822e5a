"""Numbers from text files, plain or gzipped: what cannot be read is named with file and line."""

import gzip
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pgso.data.arrays import Array
from pgso.errors import InputError


def read_lines(path: Path, encoding: str = "utf-8-sig") -> list[str]:
    """The lines of a file, by default in UTF-8, with or without BOM, CR and a last newline."""
    try:
        content = path.read_bytes()
        if path.suffix == ".gz":
            content = gzip.decompress(content)
        text = content.decode(encoding)
    except FileNotFoundError:
        raise InputError(f"there is no file {path}; it is needed here") from None
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read ({error}); fetch or write it again") from None
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    if not lines:
        raise InputError(f"{path} is empty; fetch or write it again")
    return lines


def read_numbers(
    path: Path,
    dtype: Any,
    columns: int | None = None,
    header: bool = False,
) -> Array:  # (rows, columns)
    """A table of comma-separated numbers.

    Args:
        path: The file; ``.gz`` is unpacked.
        dtype: numpy's type of the numbers.
        columns: How many a line has; by default as many as the first one.
        header: Whether the first line is skipped.
    """
    lines = read_lines(path)[header:]
    return parse_numbers(lines, dtype, columns, path, first_line=1 + header)


def parse_numbers(
    lines: Sequence[str], dtype: Any, columns: int | None, path: Path, first_line: int = 1
) -> Array:  # (len(lines), columns)
    """The same from lines that were read already; errors name the path and the line."""
    columns = columns or (lines[0].count(",") + 1 if lines else 1)
    if not lines:
        return np.empty((0, columns), dtype)
    try:
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
