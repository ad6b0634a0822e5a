"""Molecules as graphs, and a user's table of them: SMILES and labels."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pgso.data.arrays import Array
from pgso.data.splits import masks_to_split, split_by_seed
from pgso.data.task import Task
from pgso.errors import InputError

if TYPE_CHECKING:
    from pgso.data.tables.table import Table

# What an integer stands for, column by column. The last value of a list means "anything else".
ATOM_FEATURES: tuple[list[Any], ...] = (
    [*range(1, 119), None],  # atomic number
    ["UNSPECIFIED", "TETRAHEDRAL_CW", "TETRAHEDRAL_CCW", "OTHER", None],  # chirality
    [*range(11), None],  # degree
    [*range(-5, 6), None],  # formal charge
    [*range(9), None],  # hydrogens
    [*range(5), None],  # radical electrons
    ["SP", "SP2", "SP3", "SP3D", "SP3D2", None],  # hybridisation
    [False, True],  # aromatic
    [False, True],  # in a ring
)
ATOM_CATEGORIES = tuple(map(len, ATOM_FEATURES))
MOST_LETTERS = 5_000  # of a SMILES; RDKit takes a second for it, and four for twice as many

Molecule = tuple[list[list[int]], list[tuple[int, int]]]  # atoms' features, bonds


def molecule_of(smiles: str) -> Molecule | None:
    """Atoms (9 integers each) and bonds (pairs of atoms).

    None if RDKit cannot parse the string, or if the molecule has no atoms.

    Example:
        >>> atoms, bonds = molecule_of("CO")  # methanol
        >>> atoms
        [[5, 0, 4, 5, 3, 0, 2, 0, 0], [7, 0, 2, 5, 1, 0, 2, 0, 0]]
        >>> bonds
        [(0, 1)]
    """
    try:
        from rdkit import Chem, rdBase
    except ImportError:
        raise InputError(
            "SMILES need RDKit, which is not installed; try pip install 'pgso[molecules]'"
        ) from None
    rdBase.DisableLog("rdApp.*")  # we count what cannot be parsed ourselves
    molecule = Chem.MolFromSmiles(smiles)
    if molecule is None or molecule.GetNumAtoms() == 0:
        return None
    atoms = []
    for atom in molecule.GetAtoms():
        properties = (
            atom.GetAtomicNum(),
            str(atom.GetChiralTag()).removeprefix("CHI_"),
            atom.GetTotalDegree(),
            atom.GetFormalCharge(),
            atom.GetTotalNumHs(),
            atom.GetNumRadicalElectrons(),
            str(atom.GetHybridization()),
            atom.GetIsAromatic(),
            atom.IsInRing(),
        )
        pairs = zip(ATOM_FEATURES, properties, strict=True)
        atoms.append([known.index(v) if v in known else len(known) - 1 for known, v in pairs])
    bonds = [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in molecule.GetBonds()]
    return atoms, bonds


def join(molecules: Sequence[Molecule]) -> tuple[Array, Array, Array]:
    """Many molecules side by side: atoms of each, bonds in both directions (2, E), atoms' features.

    Example:
        >>> nodes, edges, x = join([molecule_of("CO"), molecule_of("O")])
        >>> nodes.tolist(), edges.tolist(), x.shape
        ([2, 1], [[0, 1], [1, 0]], (3, 9))
    """
    nodes = np.array([len(atoms) for atoms, _ in molecules], dtype=np.int64)
    starts = np.cumsum(nodes) - nodes
    bonds = [np.array(pairs, dtype=np.int64).reshape(-1, 2) for _, pairs in molecules]
    edges = np.concatenate([pairs + start for pairs, start in zip(bonds, starts, strict=True)])
    x = np.array([atom for atoms, _ in molecules for atom in atoms], dtype=np.int64)
    return nodes, np.concatenate([edges, edges[:, ::-1]]).T, x


def load_smiles(
    path: Path, root: Path, seed: int, *, metric: str = "auto", unlabelled: bool = False
) -> Task:
    """A graph task from a CSV file with the columns ``smiles`` and ``label``, or ``target``.

    The columns ``split`` (train, val, test or nothing) and ``id`` may be there too, others are
    ignored. Molecules that RDKit cannot parse are left out, and a warning says how many. Atoms
    have the features of ogbg-molhiv. Without a split, the seed makes one, 80/10/10 (of each class).

    ``metric="auto"`` is ROC-AUC of two classes, accuracy of more, RMSE of targets, which are
    numbers. With ``unlabelled``, to predict on, labels and targets are not read.
    """
    from pgso.data.tables.answers import LABEL, encode_labels, parts_of
    from pgso.data.tables.reader import read_table

    table = read_table(path).with_header(("smiles", "target", *LABEL), (), "smiles,label")
    columns = {name.lower(): name for name in table.names}
    if "smiles" not in columns or not (unlabelled or columns.keys() & {"label", "target"}):
        raise table.error(
            f"a table of molecules needs a header with the columns smiles and label (or target), "
            f"got {','.join(table.top)}"
        )
    table, molecules = _parse(table, columns["smiles"])
    nodes, edge_index, x = join(molecules)
    regression = "label" not in columns and not unlabelled
    classes: tuple[str, ...] = ()
    if regression:
        y = table.numbers(columns["target"], optional=True)[:, None]
    elif unlabelled:
        y, metric = np.full(len(table), -1), "accuracy"
    else:
        y, classes = encode_labels(table.cells(columns["label"]))
        if len(classes) < 2:
            raise InputError(f"{path}: column label needs two classes or more, got {len(classes)}")
    if metric == "auto":
        metric = "rmse" if regression else "roc_auc" if len(classes) == 2 else "accuracy"

    if "split" in columns and not unlabelled:
        part = parts_of(table, columns["split"])
        split = masks_to_split(part == 0, part == 1, part == 2)
    else:
        split = split_by_seed(y, seed, train=0.8, val=0.1)
    return Task.from_arrays(
        path.stem,
        edge_index=edge_index,
        x=x,
        y=y,
        split=split,
        classes=classes,
        targets=("target",) if regression else (),
        metric=metric,
        nodes_per_graph=nodes,
        categories=ATOM_CATEGORIES,
        ids=tuple(table.cells(columns.get("id", columns["smiles"]))),
    )


def _parse(table: "Table", column: str) -> "tuple[Table, list[Molecule]]":
    """The rows whose molecules RDKit can read, and those molecules."""
    cells = table.cells(column)
    for row, cell in enumerate(cells):
        if len(cell) > MOST_LETTERS:
            raise table.error(
                f"a SMILES of {len(cell)} letters; at most {MOST_LETTERS} are read", row
            )
    molecules = [molecule_of(cell) for cell in cells]
    lost = np.array([molecule is None for molecule in molecules])
    if lost.all():
        raise InputError(
            f"{table.path} has no molecule that RDKit can parse; check its column smiles"
        )
    if lost.any():
        first = int(lost.argmax())
        warnings.warn(
            f"{lost.sum()} of {len(cells)} molecules of {table.path} could not be parsed and are "
            f"left out, the first in line {table.lines[first]}: {cells[first][:80]!r}",
            stacklevel=2,
        )
    return table.take(np.flatnonzero(~lost)), [m for m in molecules if m is not None]
