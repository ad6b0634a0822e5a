"""``python -m benchmarks.finding.pooling [REPEATS]``: is a gain taken, and is no gain mistaken?

Predictions of ten seeds are drawn from a model, not trained. A label is right if

    z = μ + d_i + e_si + noise > 0        with the fixed operator
    z = μ + g + d_i + v_ik + e_si + u_s + noise > 0     with the learned one,

where d_i is how easy label i is, e_si what both networks of seed s share, v_ik what operator k does
to label i on every seed, and u_s how lucky the learned network of a seed is; all are normal, and μ
and g are such that the fixed accuracy and the true gain are exact. S is learned on labels: of eight
operators that are equally good, each seed takes the one that suits its labels best. Each network
takes the best of three epochs. The luck u_s of a seed is the same for all eight operators: if
learning S also picks a luckier network, the second column is too good.

Before: S, the epoch and the evidence share the validation set, and every seed decides alone, by the
exact sign test at 97.5 %. After: three parts, and all seeds decide together
(:mod:`pgso.evaluation.statistics`) at 1 - 0.1 / 3; ``found`` is a fixed operator that no validation
label has chosen, so that two of the parts judge it.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import bdtrc
from scipy.stats import norm

from pgso.evaluation.statistics import clustered_confidence

RESULTS = Path(__file__).parents[2] / "results" / "find" / "pooling.json"
SEEDS, OPERATORS, EPOCHS = 10, 8, 3
EASY, SHARED, OWN, SUITS, LUCK = 1.5, 0.6, 0.5, 0.4, 0.08  # deviations of d, e, noise, v and u
GAINS = (0.0, 0.01, 0.02, 0.05)
# nodes, validation labels, accuracy of the fixed operator, how seeds are split
PROTOCOLS: dict[str, tuple[int, int, float, str]] = {
    "as Texas": (183, 59, 0.60, "at random"),
    "as MUTAG": (188, 18, 0.85, "in folds"),
    "as Cora": (2708, 500, 0.80, "once"),
    "as Chameleon": (2277, 729, 0.63, "at random"),
}
LEVELS = {"before": 0.975, "after": 1 - 0.1 / 3}


def decisions(rng: np.random.Generator, protocol: str, gain: float) -> dict[str, float]:
    """The share of the ten seeds that take the challenger, before and after."""
    nodes, size, accuracy, split = PROTOCOLS[protocol]
    fixed_sd = (EASY**2 + SHARED**2 + OWN**2) ** 0.5
    other_sd = (fixed_sd**2 + SUITS**2 + LUCK**2) ** 0.5
    start = fixed_sd * norm.ppf(accuracy)
    goal = other_sd * norm.ppf(accuracy + gain)
    easy = rng.normal(0, EASY, nodes)
    suits = rng.normal(0, SUITS, (OPERATORS, nodes))
    folds = rng.permutation(nodes)
    alone = 0
    judged: dict[str, list[tuple[np.ndarray, np.ndarray, int]]] = {"learned": [], "found": []}
    for seed in range(SEEDS):
        if split == "once":
            val = folds[:size]
        elif split == "in folds":
            val = folds[seed * size : (seed + 1) * size]
        else:
            val = rng.choice(nodes, size, replace=False)
        n = len(val)
        shared = easy[val] + rng.normal(0, SHARED, n)
        noise = rng.normal(0, OWN, (EPOCHS, n))
        fixed = start + shared + noise > 0  # (epochs, n)
        luck = rng.normal(0, LUCK)  # of the one network that is trained, the same for every S
        noise = rng.normal(0, OWN, (OPERATORS, EPOCHS, n))
        other = goal + shared + suits[:, val][:, None] + luck + noise > 0  # (operators, epochs, n)
        part = rng.permutation(n) * 3 // n

        everything = np.ones(n, dtype=bool)
        one = _best_epoch(fixed, everything)
        k = int(other.mean(axis=(1, 2)).argmax())
        two = _best_epoch(other[k], everything)
        alone += _sign_test(one, two) > LEVELS["before"]

        one = _best_epoch(fixed, part == 1)
        k = int(other[:, :, part == 0].mean(axis=(1, 2)).argmax())
        for name, chosen, rows in (("learned", k, part == 2), ("found", 0, part != 1)):
            two = _best_epoch(other[chosen], part == 1)
            judged[name].append((two[rows].astype(float) - one[rows], val[rows], seed))
    found = {"before": alone / SEEDS}
    for name, parts in judged.items():
        d, items = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
        seeds = np.concatenate([np.full(len(part[0]), part[2]) for part in parts])
        found[f"after, {name}"] = float(clustered_confidence(d, items, seeds) > LEVELS["after"])
    return found


def _best_epoch(right: np.ndarray, rows: np.ndarray) -> np.ndarray:  # (epochs, n) -> (n,)
    return right[int(right[:, rows].mean(axis=1).argmax())]


def _sign_test(before: np.ndarray, after: np.ndarray) -> float:
    put_right, put_wrong = int((after & ~before).sum()), int((before & ~after).sum())
    return 1 - float(bdtrc(put_right - 1, put_right + put_wrong, 0.5))


def main(repeats: int) -> None:
    """Simulate every protocol and gain, and write how often the challenger is taken."""
    rows: list[dict[str, Any]] = []
    for protocol in PROTOCOLS:
        for gain in GAINS:
            rng = np.random.default_rng(0)
            found = [decisions(rng, protocol, gain) for _ in range(repeats)]
            row = {"protocol": protocol, "gain": gain, "repeats": repeats}
            row |= {name: float(np.mean([one[name] for one in found])) for name in found[0]}
            rows.append(row)
            print(row, flush=True)
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps({"levels": LEVELS, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
