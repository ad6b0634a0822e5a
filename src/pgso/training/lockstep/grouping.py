"""Which runs are trained together: runs of one architecture with other seeds and rates."""

import json
import math
import os
from collections.abc import Sequence

from pgso.errors import InputError
from pgso.records import RunSpec

CONVS = ("gcn", "sgc", "gin", "bank")  # attention and filters are trained alone
MAY_DIFFER = {"seed", "lr", "exponent_lr", "s_rate", "preset"}
MOST_REPLICAS = 16  # Python's share of a step is small by then, and records come in time
ENOUGH_GROUPS = 4  # for each worker: then the last ones to end leave few workers idle
VARIABLE = "PGSO_LOCKSTEP"
DEFAULT_MEMORY = 1024  # mebibytes of a group


def memory_limit(given: int | None = None) -> int:
    """Mebibytes that the replicas of a group may take: given, ``$PGSO_LOCKSTEP``, or 1024.

    0 switches lockstep off.
    """
    if given is None:
        text = os.environ.get(VARIABLE, str(DEFAULT_MEMORY))
        if not text.strip().isdigit():
            raise InputError(
                f"{VARIABLE} is the memory of a group in MiB, a whole number (0: train every run "
                f"alone), got {text!r}"
            )
        given = int(text)
    if given < 0:
        raise InputError(f"the memory of a group must be 0 MiB or more, got {given}")
    return given


def groups_of(specs: Sequence[RunSpec], workers: int, memory: int) -> list[list[RunSpec]]:
    """The specs in groups to be trained together, in the order of their first members.

    What cannot be grouped is a group of one. Groups are small enough to keep all workers busy.

    Example:
        >>> specs = [RunSpec(dataset="Cora", seed=seed) for seed in range(5)]
        >>> [len(group) for group in groups_of(specs, workers=2, memory=1024)]
        [3, 2]
        >>> len(groups_of(specs, workers=2, memory=0))
        5
    """
    alike: dict[str, list[RunSpec]] = {}
    for spec in specs:
        alone = memory == 0 or not can_join(spec)
        alike.setdefault(spec.key if alone else _architecture(spec), []).append(spec)
    groups = []
    # With few groups, each is shared among the workers: otherwise some of them would have nothing.
    shares = workers if len(alike) < ENOUGH_GROUPS * workers else 1
    for members in alike.values():
        size = min(MOST_REPLICAS, math.ceil(len(members) / shares))
        groups += [members[start : start + size] for start in range(0, len(members), size)]
    return groups


def can_join(spec: RunSpec) -> bool:
    """Whether a spec is one training on a whole graph or on graphs, as far as the spec can tell."""
    return (
        spec.head == "trained"
        and spec.conv in CONVS
        and not spec.is_choice
        and spec.task in (None, "node", "graph")
        and spec.shape == "scalar"
        and spec.sample is None
        and spec.max_radius is None
        and spec.jk != "lstm"
    )


def _architecture(spec: RunSpec) -> str:
    """What replicas of a group have in common."""
    return json.dumps(spec.model_dump(mode="json", exclude=MAY_DIFFER), sort_keys=True)
