"""What the site shows depends on what is there: pages of studies, and guides that exist."""

import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from pgso_studies.study import EXPERIMENTS

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "results"
CLAIMS = RESULTS / "CLAIMS.md"
CHANGES = "changes.md"  # CHANGELOG.md, on the site
INDEX = "index.md"  # the first half of README.md
GENERATED = ("command_line.md", "run_choices.md", CHANGES, INDEX)  # the first two by reference.py
TWINS: dict[str, tuple[str, str]] = {}  # title and Markdown of every page, by its file
API = {"records": "training", "training": "training", "spectrum": "spectrum", "gso": "operator"}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Leave out guides that are not written yet; list the studies that have a page."""
    docs = Path(config.docs_dir)
    config.nav = _existing(config.nav, docs)
    studies = {page.parent.name: f"results/{page.parent.name}/page.md" for page in _pages()}
    if studies:
        titles = {_title(name): path for name, path in studies.items()}
        if CLAIMS.is_file():
            titles = {"The paper's claims": "results/CLAIMS.md", **titles}
        config.nav.append({"Results": [{title: path} for title, path in titles.items()]})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the changelog, and what the studies and the scale benchmark have written."""
    files.append(File.generated(config, CHANGES, abs_src_path=str(ROOT / "CHANGELOG.md")))
    files.append(
        File.generated(config, INDEX, content=first_half((ROOT / "README.md").read_text()))
    )
    others = (RESULTS / "scale.json", RESULTS / "scale.png", CLAIMS)
    taken = [path for path in others if path.is_file()]
    for page in _pages():
        taken += [page, *sorted((page.parent / "figures").glob("*.png"))]
    for path in taken:
        address = path.relative_to(ROOT).as_posix()
        files.append(File.generated(config, address, abs_src_path=str(path)))
    return files


def first_half(readme: str) -> str:
    r"""What README says before it goes into details, with links as the site has them.

    Example:
        >>> first_half("# pgso\n\nSee [find](docs/find.md).\n\n## Speed\n\nFast.")
        '# pgso\n\nSee [find](find.md).\n'
    """
    start = readme.partition("\n## Speed\n")[0].rstrip()
    return f"{start.replace('](docs/', '](')}\n"


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links into the source lead to the API; pages of studies that are there become links."""
    for folder, reference in API.items():
        markdown = re.sub(
            rf"\]\(\.\./src/pgso/{folder}/[^)]*\)", f"](api/{reference}.md)", markdown
        )
    markdown = markdown.replace("](../results/", "](results/")
    for study in _pages():
        address = study.relative_to(ROOT).as_posix()
        markdown = markdown.replace(f"`{address}`", f"[{study.parent.name}]({address})")
    if CLAIMS.is_file():
        markdown = markdown.replace("`results/CLAIMS.md`", "[claims](results/CLAIMS.md)")
    TWINS[page.file.src_uri] = (str(page.title), markdown)
    return markdown


def on_post_build(config: MkDocsConfig) -> None:
    """Every page as Markdown beside its HTML, and ``llms.txt`` that lists them: for programs."""
    site = Path(config.site_dir)
    for address, (_, markdown) in TWINS.items():
        file = site / address
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(markdown, encoding="utf-8")
    lines = [f"- [{title}]({address})" for address, (title, _) in TWINS.items()]
    head = f"# {config.site_name}\n\n> {config.site_description}\n\n## Pages\n\n"
    (site / "llms.txt").write_text(head + "\n".join(lines) + "\n", encoding="utf-8")


def _pages() -> list[Path]:
    return sorted(RESULTS.glob("*/page.md"))


def _title(name: str) -> str:
    """``Node classification (Table 3, Figure 4)``: a study, and what of the paper it is."""
    paper = EXPERIMENTS[name].paper if name in EXPERIMENTS else ""
    numbers = re.findall(r"(?:Tables?|Figures?) \d+(?: and \d+)?", paper)
    title = name.replace("_", " ").capitalize()
    return f"{title} ({', '.join(numbers)})" if numbers else title


def _existing(nav: list[Any], docs: Path) -> list[Any]:
    entries = []
    for entry in nav:
        ((title, path),) = entry.items()
        if isinstance(path, list):
            entries.append({title: _existing(path, docs)})
        elif (docs / path).is_file() or path in GENERATED:
            entries.append(entry)
    return entries
