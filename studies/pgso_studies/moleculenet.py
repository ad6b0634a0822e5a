"""ESOL, FreeSolv, Lipophilicity: molecules and a number each (MoleculeNet, Wu et al. 2018)."""

import csv
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from pgso.data.arrays import Array, Split
from pgso.data.dataset import DATASETS, Dataset, Sizes, check_choice
from pgso.data.molecules import ATOM_CATEGORIES, join, molecule_of
from pgso.data.places import held
from pgso.data.raw import read_lines
from pgso.data.splits import split_at_random
from pgso.data.task import Task
from pgso.errors import InputError


@dataclass(frozen=True)
class Table:
    """A file of molecules, the column of their target, and what it is called."""

    file: str
    column: str
    target: str
    sizes: Sizes


# The other columns of ESOL and FreeSolv hold predictions of other models: they are not used.
PUBLISHED = {
    "ESOL": Table(
        "molecules/esol.csv",
        "measured log solubility in mols per litre",
        "log solubility",
        Sizes(1_128, 14_991, 30_856, 9, 0),
    ),
    "FreeSolv": Table(
        "molecules/freesolv.csv", "expt", "hydration energy", Sizes(642, 5_600, 10_770, 9, 0)
    ),
    "Lipophilicity": Table(
        "molecules/lipophilicity.csv", "exp", "logD", Sizes(4_200, 113_568, 247_798, 9, 0)
    ),
}


def load(name: str, root: Path, seed: int, *, split: str = "scaffold") -> Task:
    """Molecules as graphs, with OGB's nine integer features of an atom.

    Args:
        name: As published.
        root: The data root.
        seed: Of the random split; the scaffold split ignores it.
        split: ``"scaffold"`` (80/10/10, molecules of one scaffold together) or ``"random"``.
    """
    check_choice("split", split, ("scaffold", "random"))
    table = PUBLISHED[name]
    path = root / table.file
    (nodes, edge_index, x), y, scaffold = _read(path, table.column)
    task = Task.from_arrays(
        name,
        edge_index=edge_index,
        x=x,
        y=y[:, None],
        split=split_groups(scaffold)
        if split == "scaffold"
        else split_at_random(np.isfinite(y), seed, train=0.8, val=0.1),
        targets=(table.target,),
        metric="rmse",
        nodes_per_graph=nodes,
        categories=ATOM_CATEGORIES,
    )
    return table.sizes.checked(task, path.parent)


def scaffold_of(smiles: str) -> str:
    """The Bemis-Murcko scaffold: rings and what joins them, as SMILES; empty without rings.

    Example:
        >>> scaffold_of("Cc1ccccc1")  # toluene
        'c1ccccc1'
    """
    from rdkit.Chem.Scaffolds import MurckoScaffold

    scaffold: str = MurckoScaffold.MurckoScaffoldSmiles(smiles, includeChirality=False)
    return scaffold


def split_groups(group: Array, train: float = 0.8, val: float = 0.1) -> Split:
    """Whole groups, largest first, go to training until it is full, then to validation, then test.

    A scaffold split as in MoleculeNet (Wu et al. 2018): molecules with one scaffold stay together,
    so that the test set holds others than the training set. It depends on no seed. Of groups of one
    size, the one whose first item comes first is taken first; DeepChem takes it last, so that its
    validation and test sets hold other molecules.

    Args:
        group: (items,) the number of each item's group.
        train: The share of the items to train on.
        val: The share to validate on.

    Example:
        >>> [part.tolist() for part in split_groups(np.array([0, 0, 0, 1, 0, 0, 0, 0, 0, 2]))]
        [[0, 1, 2, 4, 5, 6, 7, 8], [3], [9]]
    """
    _, first, group_of, size = np.unique(
        group, return_index=True, return_inverse=True, return_counts=True
    )
    parts: tuple[list[int], list[int], list[int]] = ([], [], [])
    limits = (train * len(group), val * len(group))
    for chosen in np.lexsort((first, -size)):
        members = np.flatnonzero(group_of == chosen).tolist()
        sizes = [len(part) + len(members) for part in parts]
        parts[0 if sizes[0] <= limits[0] else 1 if sizes[1] <= limits[1] else 2].extend(members)
    train_part, val_part, test_part = (np.sort(np.array(p, dtype=np.int64)) for p in parts)
    return train_part, val_part, test_part


@held
def _read(path: Path, column: str) -> tuple[tuple[Array, Array, Array], Array, Array]:
    """The molecules side by side, their targets, and the numbers of their scaffolds."""
    rows = list(csv.DictReader(read_lines(path)))
    if not rows or column not in rows[0] or "smiles" not in rows[0]:
        raise InputError(f"{path} needs the columns smiles and {column!r}; fetch it again")
    molecules, values, scaffolds = [], [], []
    for line, row in enumerate(rows, start=2):
        smiles = row["smiles"].strip()
        molecule = molecule_of(smiles)
        try:
            value = float(row[column])
        except (TypeError, ValueError):
            raise InputError(f"{path}, line {line}: {row[column]!r} is no number") from None
        if molecule is None:
            raise InputError(f"{path}, line {line}: RDKit cannot read {smiles!r}")
        molecules.append(molecule)
        values.append(value)
        scaffolds.append(scaffold_of(smiles))
    _, scaffold = np.unique(scaffolds, return_inverse=True)
    return join(molecules), np.array(values), scaffold


for _name, _table in PUBLISHED.items():
    DATASETS.add(
        Dataset(
            name=_name,
            load=partial(load, _name),
            kind="graph",
            metric="rmse",
            sizes=_table.sizes,
            files=(_table.file,),
        )
    )
