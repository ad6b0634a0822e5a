"""Files and frames as tables: CSV, TSV, semicolons, Parquet, gzip, and pandas' frames."""

import io
import re
import unicodedata
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pgso.data.arrays import Array
from pgso.data.raw import check_count, check_text_size, read_text
from pgso.data.tables.table import DECIMAL_COMMA, SEPARATED, Table, is_number, without_indices
from pgso.errors import InputError

ABOVE = re.compile(r"(?:sep=.\n)?(?:(?:# |%).*(?:\n|\Z)|[ \t]*\n)*")  # Excel's and SNAP's comments
SAVETXT = re.compile(r"-?\d\.\d+e[+-]\d+")
SOME_LINES = 20  # that show what separates cells
NARROW = 3  # columns up to which cells are cut here and not by pandas
CONTROLS = [chr(code) for code in (*range(9), *range(11, 32), *range(127, 160))]  # of terminals
INVISIBLE = [*CONTROLS, *"\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\ufeff\u00ad"]
PLAIN = str.maketrans("\u00a0\u2007\u202f", "   ", "".join(INVISIBLE))  # letters nobody sees


def read_table(path: Path, least: int = 1) -> Table:
    """A file as a table; if there are at ``least`` 2 columns, blanks may separate words."""
    if path.suffix.lower() == ".parquet":
        try:
            from pyarrow import ArrowException, parquet
        except ImportError:
            advice = f"pip install pyarrow, or write it as {path.stem}.csv"
            raise InputError(f"{path} needs pyarrow: {advice}") from None
        try:
            with parquet.ParquetFile(path) as content:
                rows, columns = content.metadata.num_rows, content.metadata.num_columns
                check_text_size(path, rows * columns)
                check_count(columns, "columns", path)
                return frame_table(content.read().to_pandas(integer_object_nulls=True), path)
        except (ArrowException, OSError) as error:
            raise InputError(f"{path} is not readable as Parquet ({str(error)[:100]})") from None
    check_text_size(path)
    text = tidy(read_text(path))
    above = ABOVE.match(text)[0]  # type: ignore[index]
    text = text.removeprefix(above)
    if not text:
        raise InputError(f"{path} has no lines but comments; write at least one")
    # What cuts the first line into most cells; a semicolon if all commas are decimal ones. None:
    # runs of blanks, where cells are numbers or there must be more than one.
    rows = [line for line in text[: 2**20].split("\n")[: 2 * SOME_LINES] if line.strip()]
    head, body = rows[0], rows[1:SOME_LINES] or rows
    commas = [cell.strip(' "') for line in body for cell in line.split(";") if "," in cell]
    bare, cut = re.sub(r'"[^"]*"', "", head), [line.split() for line in body]
    best = max(",\t;", key=bare.count)
    separator: str | None = best
    if ";" in head and commas and all(map(DECIMAL_COMMA.fullmatch, commas)):
        separator = ";"
    elif best not in bare:
        are_alike = len(cut[0]) > 1 and all(len(cells) == len(cut[0]) for cells in cut)
        may_cut = least > 1 or all(is_number(cell) for cells in cut for cell in cells)
        separator = None if are_alike and may_cut else ","
    frame, lines = _cells(text, separator, path, above.count("\n"))
    if frame.shape[1] == 1 and re.search(r"^\s*\n", above, re.M):
        raise InputError(f'{path}, line 1 is blank; remove it, or write "" for an empty cell')
    for name in frame:  # numpy.savetxt writes 7 as 7.000000000000000000e+00
        if SAVETXT.fullmatch(frame[name].iloc[0]) and frame[name].map(SAVETXT.fullmatch).all():
            values = frame[name].astype(float)
            if ((values % 1 == 0) & (values.abs() < 2**53)).all():
                frame[name] = values.astype(np.int64).astype(str).astype(object)
    if frame.shape[1] > 1 and (frame["column 1"].to_numpy() == "").any():
        filled = (frame != "").any(axis=1).to_numpy()
        frame, lines = frame[filled].reset_index(drop=True), lines[filled]
        if not len(frame):
            raise InputError(f"{path} has only empty cells; write at least one line")
    return Table(path, frame, lines, decimal_comma=separator == ";")


def frame_table(frame: pd.DataFrame, path: Path) -> Table:
    """A frame as the table that its CSV file would be; an index beyond 0, 1, ... is a column."""
    if not isinstance(frame, pd.DataFrame):
        raise InputError(f"{path} must be a pandas DataFrame, got {type(frame).__name__}")
    index = frame.index
    if index.nlevels > 1 or index.name is not None or list(index) != list(range(len(index))):
        names = [name or "" for name in index.names]
        frame = frame.set_axis(index.set_names(names)).reset_index(names=names)
    check_count(frame.shape[1], "columns", path)
    header = [tidy(str(name)).strip() for name in frame.columns]
    twice = next((name for name, times in Counter(header).items() if times > 1), None)
    if twice is not None:
        raise InputError(f"{path}: two columns are called {twice!r}; give each its own name")
    if not len(frame):
        raise InputError(f"{path} has no rows; write at least one")
    frame = frame.set_axis(header, axis=1)
    for name in header:
        some = frame[name].dropna().iloc[:1].tolist() if frame[name].dtype == object else []
        if some and isinstance(some[0], list | tuple | set | dict | bytes | np.ndarray):
            problem = f"{path}: column {name!r} holds more than one number or word in a cell"
            raise InputError(f"{problem}; write a column for each, or leave it out")
        if frame[name].dtype.kind == "f":
            numbers = frame[name].dropna().to_numpy(dtype=float)
            if (np.abs(numbers) < 2**53).all() and (numbers % 1 == 0).all():
                frame = frame.assign(**{name: frame[name].astype("Int64")})
    text = frame.to_csv(index=False, header=False, lineterminator="\n")
    cells, _ = _cells(tidy(text).removesuffix("\n"), ",", path)
    cells = without_indices(cells.set_axis(header, axis=1))
    return Table(path, cells, np.arange(1, len(frame) + 1), has_header=True)


def words_of(X: Any) -> Table | None:
    """The table of a frame with words, dates or gaps, without its index; None of numbers."""
    if not hasattr(X, "columns") or not hasattr(X, "iloc"):
        return None
    if all(kind.kind in "biuf" for kind in X.dtypes) and not X.isna().to_numpy().any():
        return None
    return frame_table(X.reset_index(drop=True), Path("X"))


def _cells(
    text: str, separator: str | None, path: Path, above: int = 0
) -> tuple[pd.DataFrame, Array]:
    """The cells of a text below some lines, stripped, and the number of each row's line."""
    mark, bare, lines = separator or " ", text, above + 1 + np.arange(text.count("\n") + 1)
    if '"' in text:  # x stands for each quoted cell, which may go over several lines
        end = re.escape(mark)
        quoted = re.compile(rf'(?<![^{end}\n]) *"(?:[^"]|"")*" *(?=[{end}\n]|\Z)')
        bare = quoted.sub("x", text)
        if bare.count("\n") < text.count("\n"):
            within = quoted.sub(lambda found: "\0" * found[0].count("\n"), text).split("\n")
            lines = lines[: len(within)]
            lines[1:] += np.cumsum([record.count("\0") for record in within])[:-1]
        odd = re.search(rf'(?:^|{end}) *"', bare, re.M)
        if odd is not None:
            line = lines[bare.count("\n", 0, odd.start())]
            advice = 'put whole cells between two of them, and write "" for one within a cell'
            raise InputError(f"{path}, line {line}: its quotation marks do not fit; {advice}")
    if separator is None:
        widths = np.array([len(row.split()) for row in bare.split("\n")])
    else:
        letters = np.frombuffer(bare.encode(), np.uint8)
        ends = np.append(np.flatnonzero(letters == ord("\n")), len(letters))
        marks = np.flatnonzero(letters == ord(separator))
        widths = np.diff(np.searchsorted(marks, ends), prepend=0) + 1
        if (widths == 1).any():
            widths[[not row.strip() for row in bare.split("\n")]] = 0
    filled = np.flatnonzero(widths)
    first, usual = widths[0], widths[filled[min(1, len(filled) - 1)]]
    check_count(int(usual), "columns", path)
    has_number = any(map(is_number, re.split(r"[,;\t ]", bare.partition("\n")[0])))
    is_short = first + 1 == usual and not has_number
    wrong = filled[1:][widths[filled[1:]] != (usual if is_short else first)]
    if len(wrong):
        line, got = lines[wrong[0]], widths[wrong[0]]
        shown = text.split("\n")[line - lines[0]][:60]
        problem = f"expected {first} cells, got {got} ({shown!r})"
        raise InputError(f"{path}, line {line}: {problem}; {SEPARATED}")
    if separator is not None and '"' not in text and first <= NARROW and (widths == first).all():
        # A list of edges is cut in a quarter of pandas' time. Of more columns pandas is the faster
        # one: it makes equal cells one object, which are compared and coded sooner.
        pieces = np.array(text.replace("\n", separator).split(separator), dtype=object)
        frame = pd.DataFrame(pieces.reshape(-1, first), dtype=object)
    else:
        frame = pd.read_csv(
            io.StringIO(f'""{mark}{text}' if is_short else text),
            sep=separator or r"\s+",
            header=None,
            dtype=object,
            na_filter=False,
            skip_blank_lines=False,
            skipinitialspace=True,
        )
    frame.columns = [f"column {c + 1}" for c in range(frame.shape[1])]
    blanks = " " if separator == "\t" else " \t"
    pairs = [pair for a in blanks for b in (mark, "\n") for pair in (a + b, b + a)]
    has_blanks = any(blank in text for blank in blanks)
    if '"' in text or (has_blanks and any(pair in f"\n{text}" for pair in pairs)):
        frame = frame.apply(lambda cells: cells.str.strip())
    return frame, lines


def tidy(text: str) -> str:
    """The same text in one form: composed letters, plain blanks, no letters that nobody sees."""
    if text.isascii() and not any(control in text for control in CONTROLS[:30]):
        return text
    return unicodedata.normalize("NFC", text).translate(PLAIN)
