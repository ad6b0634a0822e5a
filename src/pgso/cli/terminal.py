"""Where commands print. What a name could do to a terminal is shown instead of done."""

import unicodedata
from typing import Any

from rich.console import Console as RichConsole
from rich.text import Text

# Control characters, marks that turn the direction of text, and halves of characters that a name
# which is not UTF-8 is made of.
HIDDEN = ("Cc", "Cf", "Cs")


class Console(RichConsole):
    """Rich's console; names of files and folders cannot move its cursor or change its colours."""

    def render_str(self, text: str, **options: Any) -> Text:
        """What rich makes of every text that is printed, alone or in a table."""
        return super().render_str(visible(text), **options)


def visible(text: str, keep: str = "\n\t") -> str:
    r"""The text with its control characters written out.

    Example:
        >>> visible("a\x1b[31mb")
        'a\\x1b[31mb'
    """
    if text.isprintable():
        return text
    return "".join(
        letter
        if letter in keep or unicodedata.category(letter) not in HIDDEN
        else letter.encode("unicode_escape").decode("ascii")
        for letter in text
    )
