"""Does ``a`` follow the sparsity (Section 5.1)? ``python examples/block_model_study.py``.

The whole of it is ``pgso run sbm_sparsity``. Records are kept: a second call trains nothing.
"""

import argparse
from pathlib import Path
from statistics import fmean

from pgso.gso.parameters import NAMES
from pgso.records import RunSpec, Store
from pgso.training.engines import run_all


def specs(toy: bool) -> list[RunSpec]:
    """Plain data: levels of sparsity times seeds."""
    levels = [(0.5, 0.25), (0.22, 0.11)] if toy else [(0.50, 0.25), (0.36, 0.18), (0.22, 0.11)]
    base = RunSpec(
        dataset="sbm",
        num_layers=3,
        norm="batch",  # without it, the network stays at chance
        hidden_channels=8 if toy else 64,
        epochs=3 if toy else 200,
    )
    size = 15 if toy else 200  # nodes of a community
    return [
        base.but(seed=seed, data_options={"p": p, "q": q, "size": size})
        for p, q in levels
        for seed in range(1 if toy else 3)
    ]


def main() -> None:
    """Run what has no record yet; one row a level."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--toy", action="store_true", help="small graphs, a few epochs")
    parser.add_argument("--out", type=Path, default=Path("runs"))
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()

    records = run_all(specs(options.toy), Store(options.out), workers=options.workers)
    levels: dict[float, list] = {}
    for record in records:
        levels.setdefault(float(record.spec.data_options["p"]), []).append(record)
    print("p     test ", *(f"{name:>6}" for name in NAMES))
    for p, runs in levels.items():
        means = [fmean(record.parameters[0][i] for record in runs) for i in range(len(NAMES))]
        test = fmean(record.test or 0.0 for record in runs)
        print(f"{p:.2f}  {test:.3f}", *(f"{mean:6.2f}" for mean in means))


if __name__ == "__main__":
    main()
