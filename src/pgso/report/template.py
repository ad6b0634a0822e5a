"""Templates of the pages: everything a page needs goes inside, and it fetches nothing."""

import base64
import hashlib
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from pgso.report.grid import Grid


def render(name: str, scripts: tuple[str, ...] = (), **context: Any) -> str:
    """A template with our style and scripts; everything that is given to it is escaped.

    Args:
        name: A file of ``assets``.
        scripts: Files of ``assets``, put together in this order; their hash is what the page's
            security policy admits.
        context: What the template shows.
    """
    environment = Environment(
        loader=PackageLoader("pgso.report", "assets"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"download": download, "file_name": file_name}
    script = "\n".join(_asset(script) for script in scripts)
    return environment.get_template(name).render(
        style=Markup(_asset("report.css")),  # noqa: S704  (our own file)
        script=Markup(script),  # noqa: S704  (our own files)
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        **context,
    )


def download(content: "Grid | str", kind: str = "text/csv") -> str:
    """Text, or a table as CSV, as an address that a link can save."""
    text = content.to_csv() if isinstance(content, Grid) else content
    return f"data:{kind};charset=utf-8;base64,{base64.b64encode(text.encode()).decode()}"


def file_name(title: str) -> str:
    """A title as the name of a file.

    Example:
        >>> file_name("Test accuracy, in %")
        'test-accuracy-in'
    """
    letters = "".join(c if c.isalnum() else " " for c in title.lower())
    return "-".join(letters.split()) or "table"


def _asset(name: str) -> str:
    return files("pgso.report").joinpath("assets", name).read_text(encoding="utf-8")
