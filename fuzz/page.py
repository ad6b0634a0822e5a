"""``results/fuzz/page.md``: what is promised, what was tried and with what counts."""

INTRODUCTION = """# Reliability

Written by `python -m fuzz --publish` from `results/fuzz/`; no number on this page is typed by hand.
`make test` runs a few seeded cases of each fuzzer, `make fuzz` all of them.

| promise | tried | broke it |
|---|---|---|
"""

LIMITS = """
## What is refused on purpose

| what | limit | where |
|---|---|---|
| what a file unpacks to | {unpacked} MB, or {ratio} times its size | `pgso.data.raw` |
| a dense matrix made of categories or bags of words | {dense:,} numbers | `pgso.data.raw` |
| node numbers of an edge list | {nodes:,}, or {per_edge} times the edges | `pgso.data.raw` |
| relations of an edge list | {relations:,} | `pgso.data.raw` |
| width, layers, heads of a network | {width:,}, {layers:,}, {heads:,} | `pgso.RunSpec` |
| an error message | {letters:,} letters | `pgso.cli` |
| a process of a run that does not answer | {patience:.0f} s, or `$PGSO_PATIENCE` | `pgso.launch` |
| the address of a Ray cluster that does not answer | {ray:.0f} s | `pgso.training.engines` |

## What is not checked

- Two fits in threads of one process wait for each other, because torch has one generator for all:
  each gives the record it gives alone, and together they take as long as one after the other.
- Of a user's file above {read} MB, the first {read} MB, its times and its place on the disk are
  compared, not all of its content.
"""


def page(outcomes: list[dict]) -> str:
    """The page from the outcomes of the fuzzers."""
    rows = [
        f"| {outcome['promise']} | {outcome['tried']:,} | {len(outcome['failures'])} |"
        for outcome in outcomes
    ]
    return "\n".join([INTRODUCTION + "\n".join(rows), *map(_section, outcomes), _limits()])


def _section(outcome: dict) -> str:
    tried = "\n".join(f"| {kind} | {count:,} |" for kind, count in outcome["counts"].items())
    measured = ", ".join(f"{name}: {value}" for name, value in outcome["measured"].items())
    text = f"\n## {outcome['name'].capitalize()}\n\n| tried | cases |\n|---|---|\n{tried}\n"
    text += f"\nMeasured: {measured}.\n" if measured else ""
    if outcome["failures"]:
        shown = "\n".join(f"    {failure}" for failure in outcome["failures"][:10])
        text += (
            f"\n{len(outcome['failures'])} cases broke the promise. The first ones:\n\n{shown}\n"
        )
    return text


def _limits() -> str:
    from annotated_types import Le

    from pgso.cli.main import MOST_LETTERS
    from pgso.data import raw as limits
    from pgso.launch import PATIENCE
    from pgso.records import RunSpec
    from pgso.records.files import READ_UP_TO
    from pgso.training.engines import RAY_PATIENCE

    def most(field: str) -> int:
        return next(m.le for m in RunSpec.model_fields[field].metadata if isinstance(m, Le))

    return LIMITS.format(
        unpacked=limits.UNPACKED >> 20,
        ratio=limits.RATIO,
        dense=limits.DENSE,
        nodes=limits.NODES,
        per_edge=limits.NODES_PER_EDGE,
        relations=limits.MOST["relations"][0],
        width=most("hidden_channels"),
        layers=most("num_layers"),
        heads=most("heads"),
        letters=MOST_LETTERS,
        patience=PATIENCE,
        ray=RAY_PATIENCE,
        read=READ_UP_TO >> 20,
    )
