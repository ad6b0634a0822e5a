"""``pgso demo``: the operator at work on an embedded graph."""

from rich.console import Console
from rich.table import Table

from pgso.cli.main import app
from pgso.gso.presets import PRESETS


@app.command()
def demo() -> None:
    """Show every known operator on Zachary's karate club, with its certified interval."""
    import networkx
    import torch

    from pgso.graph import Graph
    from pgso.spectrum import gershgorin_interval, symmetrised

    graph = Graph.from_networkx(networkx.karate_club_graph(), weight=None)
    table = Table("operator", "Theorem 2 says", "eigenvalues", title=f"karate club: {graph}")
    for name, S in PRESETS.items():
        low, high = gershgorin_interval(graph, S)
        values = torch.linalg.eigvalsh(symmetrised(graph, S).to_dense())
        table.add_row(
            name, f"[{low:.3f}, {high:.3f}]", f"{values.min():.3f} ... {values.max():.3f}"
        )
    Console().print(table)
