"""The description on a package index: README.md without links into this repository.

An index shows the README alone, so a link to ``docs/find.md`` would lead nowhere. Where
``[project.urls]`` in pyproject.toml has a ``Repository``, such links lead there. Where it has none,
or a placeholder at example.org, their text stays and the link goes.
"""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

PLACEHOLDER = "https://example.org/"
LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?!https?:|#)(?P<path>[^)\s]+)\)")


class ReadmeHook(MetadataHookInterface):
    """Fills in ``readme``, which pyproject.toml declares as dynamic."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the description of the package."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        repository = metadata.get("urls", {}).get("Repository", PLACEHOLDER)
        if repository.startswith(PLACEHOLDER):
            repository = None
        text = for_an_index(text, repository)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def for_an_index(text: str, repository: str | None) -> str:
    """The README with absolute links, or with none into the repository.

    Example:
        >>> for_an_index("![plot](a.png)See [find](docs/find.md).", None)
        'See find.'
        >>> for_an_index("See [find](docs/find.md).", "https://example.org/pgso")
        'See [find](https://example.org/pgso/blob/main/docs/find.md).'
    """

    def replaced(match: re.Match[str]) -> str:
        if repository is None:
            return "" if match["image"] else match["text"]
        kind = "raw" if match["image"] else "blob"
        return f"{match['image']}[{match['text']}]({repository}/{kind}/main/{match['path']})"

    return LINK.sub(replaced, text)
