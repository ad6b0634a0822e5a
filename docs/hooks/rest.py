"""Docstrings hold formulas and roles as Sphinx writes them; the site reads Markdown."""

import re
from typing import Any

import griffe

DISPLAY = re.compile(r"^( *)\.\. math::\n((?:\1    .*\n|\s*\n)+)", flags=re.MULTILINE)


class Rest(griffe.Extension):
    """Turns every docstring into Markdown as it is collected."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the text in place."""
        if obj.docstring:
            obj.docstring.value = to_markdown(obj.docstring.value)


def to_markdown(text: str) -> str:
    r"""Formulas between dollars, roles as code, examples under the heading that griffe knows.

    Example:
        >>> to_markdown("See :func:`pgso.fit` on :math:`x`.")
        'See `pgso.fit` on $x$.'
    """
    text = DISPLAY.sub(_display, text + "\n").rstrip("\n")
    text = re.sub(r":math:`([^`]+)`", r"$\1$", text)
    text = re.sub(r":(?:func|class|meth|mod|data|attr):`~?([^`]+)`", r"`\1`", text)
    text = text.replace("``", "`")
    return re.sub(r"^Example:$", "Examples:", text, flags=re.MULTILINE)


def _display(match: re.Match[str]) -> str:
    indent, body = match.groups()
    lines = [line.strip() for line in body.strip("\n").splitlines()]
    return f"\n{indent}$$\n" + "\n".join(indent + line for line in lines) + f"\n{indent}$$\n\n"
