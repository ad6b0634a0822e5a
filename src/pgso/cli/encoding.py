"""What a terminal can show: ASCII where the locale says so, with words for our symbols."""

import codecs
import os
import sys
from collections.abc import Mapping

# The symbols of our own texts. Letters of a user's names are written as escapes.
SYMBOLS = {
    "\N{RIGHTWARDS ARROW}": "->",
    "\N{PLUS-MINUS SIGN}": "+-",
    "\N{MULTIPLICATION SIGN}": "x",
    "\N{MINUS SIGN}": "-",
    "\N{EN DASH}": "-",
    "\N{EM DASH}": "--",
    "\N{HORIZONTAL ELLIPSIS}": "...",
    "\N{BULLET}": "*",
    "\N{MIDDLE DOT}": ".",
    "\N{SUPERSCRIPT TWO}": "^2",
    "\N{SUPERSCRIPT THREE}": "^3",
    "\N{INFINITY}": "inf",
    "\N{LESS-THAN OR EQUAL TO}": "<=",
    "\N{GREATER-THAN OR EQUAL TO}": ">=",
    "\N{GREEK SMALL LETTER GAMMA}": "gamma",
    "\N{GREEK SMALL LETTER LAMDA}": "lambda",
    "\N{LEFT SINGLE QUOTATION MARK}": "'",
    "\N{RIGHT SINGLE QUOTATION MARK}": "'",
    "\N{NO-BREAK SPACE}": " ",
}


def in_ascii(error: UnicodeError) -> tuple[str, int]:
    r"""An error handler for ``str.encode``: a word for a symbol, an escape for the rest.

    Example:
        >>> "0.5 \u00b1 0.1, caf\u00e9".encode("ascii", "pgso")
        b'0.5 +- 0.1, caf\\xe9'
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letters = error.object[error.start : error.end]
    escaped = (SYMBOLS.get(c) or c.encode("unicode_escape").decode("ascii") for c in letters)
    return "".join(escaped), error.end


codecs.register_error("pgso", in_ascii)


def wants_ascii(environment: Mapping[str, str]) -> bool:
    """Whether the locale is ``C`` or ``POSIX``, by name.

    Python writes UTF-8 then, which such a terminal shows as rubbish. ``LC_CTYPE`` does not count:
    Python sets it itself when ``LANG`` is ``C``.

    Example:
        >>> wants_ascii({"LANG": "C"}), wants_ascii({"LANG": "C", "LC_ALL": "C.UTF-8"})
        (True, False)
    """
    named = environment.get("LC_ALL") or environment.get("LANG") or ""
    return named in ("C", "POSIX") and "PYTHONIOENCODING" not in environment


def write_what_the_terminal_reads() -> None:
    """Make standard output and error write every character, in any encoding.

    rich draws its boxes in ASCII if the encoding is ASCII.
    """
    ascii_only = wants_ascii(os.environ)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            encoding = "ascii" if ascii_only else stream.encoding
            if not encoding.lower().startswith("utf"):
                stream.reconfigure(encoding=encoding, errors="pgso")
