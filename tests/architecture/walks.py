"""How far a reader walks: the functions and files of ours that four everyday calls run through.

``python -m tests.architecture.walks NAME ...`` prints the two numbers of each walk, with ``--list``
the functions too. Every module is imported first, so that imports do not count, and the call is
made once, in a process of its own: what it builds and remembers counts.

First of all it prints what these imports have changed in the process (``test_import_effects``).
"""

import importlib
import json
import os
import pkgutil
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pgso

ROOT = str(Path(pgso.__file__).parent)


def import_everything() -> int:
    """Import every module of the package but ``__main__``, and return their number."""
    names = [module.name for module in pkgutil.walk_packages([ROOT], "pgso.")]
    names.remove("pgso.__main__")
    for name in names:
        importlib.import_module(name)
    return len(names)


OTHERS = [
    "matplotlib",
    "matplotlib.figure",
    "pandas",
    "scipy.sparse.linalg",
    "torch",
    "torch_geometric.nn",
    "sklearn.linear_model",
    "sklearn.ensemble",
    "sklearn.neighbors",
    "networkx",
    "typer",
    "rich.console",
    "sklearn.utils.estimator_checks",
]


def state_of_process() -> dict[str, object]:
    """What an import may change for everybody else in the process."""
    import matplotlib
    import torch
    import torch_geometric

    handlers = {number: str(signal.getsignal(number)) for number in signal.valid_signals()}
    timers = (getattr(signal, name, None) for name in ("ITIMER_REAL", "ITIMER_VIRTUAL"))
    return {
        "environment": dict(os.environ),
        "handlers": handlers,
        "timers": [signal.getitimer(kind) for kind in timers if kind is not None],
        "filters": list(warnings.filters),
        "style": dict(matplotlib.rcParams),
        "threads": torch.get_num_threads(),
        "seed": torch.initial_seed(),
        "path": list(sys.path),
        "pyg": torch_geometric.nn.models.basic_gnn.BasicGNN.__repr__,
    }


def effects_of_imports() -> dict[str, object]:
    """The number of our modules, and what importing them has changed."""
    for name in OTHERS:  # what they do when they are imported is their business
        importlib.import_module(name)
    before = state_of_process()
    modules = import_everything()
    time.sleep(1.5)  # a timer would have rung
    after = state_of_process()
    changed = {what: [repr(before[what]), repr(after[what])] for what in before}
    return {"modules": modules, "changed": {k: v for k, v in changed.items() if v[0] != v[1]}}


def walked(call: Callable[[], object]) -> set[tuple[str, str, int]]:
    """Functions of ours that a call enters: (file, name, line), without comprehensions."""
    seen = set()

    def enter(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(ROOT) and code.co_name[0] != "<":
            seen.add((code.co_filename, code.co_name, code.co_firstlineno))

    sys.setprofile(enter)
    try:
        call()
    finally:
        sys.setprofile(None)
    return seen


def product() -> Callable[[], object]:
    """``gso.on(graph) @ x`` and its backward."""
    import torch

    edges = torch.tensor([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]])
    x = torch.randn(4, 3, requires_grad=True)

    def call() -> None:
        graph = pgso.Graph.from_edge_index(edges)
        (pgso.PGSO("gcn").on(graph) @ x).sum().backward()

    return call


def convert() -> Callable[[], object]:
    """``pgso.convert`` of a PyG model, and a training step."""
    import torch
    from torch_geometric.nn import GCN

    edges = torch.tensor([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]])
    x = torch.randn(4, 3)

    def call() -> None:
        model = pgso.convert(GCN(3, 8, 2, 2))
        optimiser = torch.optim.Adam(pgso.param_groups(model))
        model(x, edges).sum().backward()
        optimiser.step()

    return call


def command(*arguments: str) -> Callable[[], object]:
    """A command, as the shell calls it."""
    from pgso.cli.main import run

    def call() -> None:
        sys.argv = ["pgso", *arguments]
        try:
            run()
        except SystemExit as end:
            if end.code:
                raise

    return call


def find() -> Callable[[], object]:
    """``pgso find ./folder`` on a small table with words, numbers and gaps."""
    import random

    rng = random.Random(0)
    nodes = [f"c{i}" for i in range(60)]
    folder = Path("shop")
    folder.mkdir()
    edges = {tuple(sorted(rng.sample(nodes, 2))) for _ in range(150)}
    (folder / "edges.csv").write_text("source,target\n" + "".join(f"{a},{b}\n" for a, b in edges))
    rows = [
        f"{n},{rng.choice('abc')},{rng.random() if i % 9 else ''}\n" for i, n in enumerate(nodes)
    ]
    (folder / "features.csv").write_text("id,plan,spend\n" + "".join(rows))
    labels = [f"{n},{rng.choice(['yes', 'no'])}\n" for n in nodes]
    (folder / "labels.csv").write_text("id,label\n" + "".join(labels))
    return command("find", "./shop", "--out", "runs")


def compare() -> Callable[[], object]:
    """``pgso compare minesweeper`` with two seeds, in this process."""
    return command("compare", "minesweeper", "--seeds", "2", "--epochs", "2", "--workers", "1")


WALKS = {"product": product, "convert": convert, "find": find, "compare": compare}


if __name__ == "__main__":
    is_listed = "--list" in sys.argv  # a command has arguments of its own
    names = [name for name in sys.argv[1:] if name != "--list"]
    print(json.dumps(effects_of_imports()), file=sys.stderr, flush=True)  # noqa: T201
    for walk in names:
        child = os.fork()
        if child:
            os.waitpid(child, 0)
            continue
        os.chdir(tempfile.mkdtemp())
        seen = walked(WALKS[walk]())
        found = {"walk": walk, "functions": len(seen), "files": len({file for file, _, _ in seen})}
        print(json.dumps(found), file=sys.stderr)  # noqa: T201
        if is_listed:
            for file, name, line in sorted(seen):
                print(f"{Path(file).relative_to(ROOT)}:{line} {name}", file=sys.stderr)  # noqa: T201
        sys.stderr.flush()
        os._exit(0)
