"""From CSV files to an answer: ``python examples/own_graph_folder.py [FOLDER]``.

Without a folder it writes one first, of a club that falls apart.
"""

import argparse
import tempfile
from pathlib import Path

import networkx

import pgso
from pgso.report.comparison import compare


def write_club(folder: Path) -> None:
    """edges.csv and labels.csv: the least that a dataset needs."""
    club = networkx.karate_club_graph()
    edges = "".join(f"member {u},member {v}\n" for u, v in club.edges)
    (folder / "edges.csv").write_text(f"source,target\n{edges}")
    labels = "".join(f"member {node},{club.nodes[node]['club']}\n" for node in club)
    (folder / "labels.csv").write_text(f"node,label\n{labels}")


def main() -> None:
    """Load, train every operator on the same seeds, and say which to use."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--toy", action="store_true", help="two seeds, a few epochs")
    options = parser.parse_args()
    folder = options.folder
    if folder is None:
        folder = Path(tempfile.mkdtemp(prefix="club-"))
        write_club(folder)
        print(f"wrote {folder}")

    print(pgso.load_task(folder))
    seeds, epochs = (2, 3) if options.toy else (5, 100)
    base = pgso.RunSpec(dataset=str(folder), epochs=epochs)
    records = [
        pgso.fit(base.but(operator=operator, seed=seed))
        for seed in range(seeds)
        for operator in ("fixed", "pgso", "mpgso")
    ]
    comparison = compare(records)
    for summary in comparison.test.summaries:
        print(f"{summary.operator:6} {summary.mean:.1f}")
    print(comparison.verdict)


if __name__ == "__main__":
    main()
