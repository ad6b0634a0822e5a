"""A page of a study in HTML: the same text, for those who read in a browser."""

from html import escape

from markdown_it import MarkdownIt

STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; display: block; overflow-x: auto; margin: 1rem 0; }
th, td { padding: 0.25rem 0.6rem; border-bottom: 1px solid #8886; text-align: left; }
img { max-width: 100%; height: auto; background: white; }
"""


def as_html(title: str, text: str) -> str:
    r"""Markdown as a page that fetches nothing but the pictures beside it.

    Example:
        >>> "<td>1 &lt; 2</td>" in as_html("t", "| a |\n|---|\n| 1 < 2 |")
        True
    """
    body = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{escape(title)}</title>"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{STYLE}</style></head><body>\n{body}</body></html>\n"
    )
