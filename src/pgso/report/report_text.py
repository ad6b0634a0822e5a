"""``report.md``: the tables of a page as text, to be pasted."""

from collections.abc import Sequence
from pathlib import Path

from pgso.records import RunRecord
from pgso.records.data import DataRecord
from pgso.report.about import baselines_grid, data_grids, provenance_grids, python_code
from pgso.report.comparison import Comparison
from pgso.report.doubts import doubts
from pgso.report.evaluation import confusion_grids
from pgso.report.grid import markdown_text
from pgso.report.tables import markdown_tables


def report_text(
    records: Sequence[RunRecord],
    comparison: Comparison,
    heading: str,
    command: str | None,
    figures: Sequence[Path],
    data: Sequence[DataRecord],
) -> str:
    """The page in Markdown: data, verdict, doubts, tables, figures, and how to have it again."""
    lines = [f"# {markdown_text(heading)}", ""]
    lines += [grid.to_markdown() for grid in data_grids(data)]
    lines += [f"**{markdown_text(comparison.verdict)}**", ""]
    lines += [f"- {markdown_text(doubt)}" for doubt in doubts(records, data)]
    lines += [f"- {markdown_text(note)}" for note in comparison.notes]
    baselines = baselines_grid(data, comparison.objective)
    lines += ["", *([baselines.to_markdown()] if baselines.rows else [])]
    lines += [markdown_tables(records, comparison)]
    lines += [grid.to_markdown() for grid in confusion_grids(records).values()]
    lines += [f"![{path.stem}](figures/{path.name})\n" for path in figures]
    lines += [grid.to_markdown() for grid in provenance_grids(records)]
    lines += ["Again:", ""]
    blocks = [command] if command else []
    for block in [*blocks, python_code(records)]:
        lines += [*(f"    {line}" for line in block.splitlines()), ""]
    return "\n".join(lines)
