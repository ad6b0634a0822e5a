"""Formulas as MathML, which browsers draw themselves: the site asks for nothing from elsewhere."""

import html
import re
from typing import Any

from latex2mathml.converter import convert

FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', flags=re.DOTALL)


def on_page_content(content: str, **_: Any) -> str:
    r"""Every formula of a page, written out.

    Example:
        >>> "<msub><mi>m</mi><mn>1</mn></msub>" in on_page_content(
        ...     r'<span class="arithmatex">\(m_1\)</span>'
        ... )
        True
    """
    return FORMULA.sub(_drawn, content)


def _drawn(match: re.Match[str]) -> str:
    tag, tex = match.groups()
    display = "block" if tag == "div" else "inline"
    return f'<{tag} class="arithmatex">{convert(html.unescape(tex), display=display)}</{tag}>'
