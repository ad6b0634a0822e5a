"""ESOL, FreeSolv, Lipophilicity: molecules and a number each (MoleculeNet, Wu et al. 2018)."""

import csv
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from pgso.data.arrays import Array, Arrays
from pgso.data.dataset import DATASETS, Dataset, Sizes, check_choice
from pgso.data.molecules import ATOM_CATEGORIES, join, molecule_of, scaffold_of
from pgso.data.places import cached
from pgso.data.raw import read_lines
from pgso.data.splits import split_at_random, split_groups
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


def load(name: str, root: Path, seed: int, *, split: str = "scaffold") -> Arrays:
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
    parts = cached(name, [path], partial(_read, path, table.column))
    y = parts["y"].astype(np.float64)[:, None]
    arrays = Arrays(
        edge_index=parts["edge_index"].astype(np.int64),
        x=parts["x"].astype(np.int64),
        y=y,
        split=split_groups(parts["scaffold"])
        if split == "scaffold"
        else split_at_random(np.isfinite(y[:, 0]), seed, train=0.8, val=0.1),
        targets=(table.target,),
        metric="rmse",
        nodes_per_graph=parts["nodes_per_graph"].astype(np.int64),
        categories=ATOM_CATEGORIES,
    )
    table.sizes.check(arrays, name, path.parent)
    return arrays


def _read(path: Path, column: str) -> dict[str, Array]:
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
    nodes, edge_index, x = join(molecules)
    _, scaffold = np.unique(scaffolds, return_inverse=True)
    return {
        "edge_index": edge_index.astype(np.int32),
        "x": x.astype(np.uint8),
        "y": np.array(values),
        "scaffold": scaffold.astype(np.int32),
        "nodes_per_graph": nodes.astype(np.int32),
    }


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
