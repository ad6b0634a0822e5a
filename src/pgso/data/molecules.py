"""Molecules as graphs, and a user's table of them: SMILES and labels."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pgso.data.arrays import Array
from pgso.data.splits import split_by_seed
from pgso.data.task import Task
from pgso.errors import InputError

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
    """Atoms (9 integers each) and bonds (pairs of atoms); None of what RDKit cannot parse."""
    try:
        from rdkit import Chem, rdBase
    except ImportError:
        advice = "try pip install 'pgso[molecules]'"
        raise InputError(f"SMILES need RDKit, which is not installed; {advice}") from None
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
    """Many molecules side by side: atoms of each, bonds both ways (2, E), atoms' features."""
    nodes = np.array([len(atoms) for atoms, _ in molecules], dtype=np.int64)
    starts = np.cumsum(nodes) - nodes
    bonds = [np.array(pairs, dtype=np.int64).reshape(-1, 2) for _, pairs in molecules]
    edges = np.concatenate([pairs + start for pairs, start in zip(bonds, starts, strict=True)])
    x = np.array([atom for atoms, _ in molecules for atom in atoms], dtype=np.int64)
    return nodes, np.concatenate([edges, edges[:, ::-1]]).T, x


def load_smiles(
    path: Path, root: Path, seed: int, *, unlabelled: bool = False, missing: str | None = None
) -> Task:
    """A graph task from a CSV file with the columns ``smiles`` and ``label``, or ``target``.

    The columns ``split`` (train, val, test or nothing) and ``id`` may be there too, others are
    ignored. Molecules that RDKit cannot parse are left out, and a warning says how many. Atoms
    have the features of ogbg-molhiv. Without a split, the seed makes one, 80/10/10 (of each class).
    Two classes are scored by ROC-AUC, more by accuracy, targets, which are numbers, by RMSE. With
    ``unlabelled``, to predict on, they are not read. ``missing`` is a label that means unknown.
    """
    import pandas as pd

    from pgso.data.tables.answers import LABEL, Answers
    from pgso.data.tables.folder import Tables, learned_of
    from pgso.data.tables.reader import read_table

    table = read_table(path).with_header(("smiles", "target", *LABEL), (), "smiles,label")
    columns = {name.lower(): name for name in table.names}
    answer = columns.get("label", columns.get("target"))
    if "smiles" not in columns or (answer is None and not unlabelled):
        needed = "needs a header with the columns smiles and label (or target)"
        raise table.error(f"a table of molecules {needed}, got {','.join(table.top)}")
    cells = table.cells(columns["smiles"])
    for row, cell in enumerate(cells):
        if len(cell) > MOST_LETTERS:
            problem = f"a SMILES of {len(cell)} letters; at most {MOST_LETTERS} are read"
            raise table.error(problem, row)
    molecules = [molecule_of(cell) for cell in cells]
    lost = np.array([molecule is None for molecule in molecules])
    if lost.all():
        raise InputError(f"{path} has no molecule that RDKit can parse; check its column smiles")
    if lost.any():
        first = int(lost.argmax())
        warnings.warn(
            f"{lost.sum()} of {len(cells)} molecules of {path} could not be parsed and are "
            f"left out, the first in line {table.lines[first]}: {cells[first][:80]!r}",
            stacklevel=2,
        )
    table = table.take(np.flatnonzero(~lost))
    nodes, edge_index, x = join([molecule for molecule in molecules if molecule is not None])
    ids = tuple(table.cells(columns.get("id", columns["smiles"])))
    said: dict[str, Any] = {"unlabelled": unlabelled, "missing": missing, "label_separator": ""}
    answers = Answers(table, None, (answer,), "label" not in columns) if answer else None
    given = Tables(where=str(path), seed=seed, split_by=columns.get("split"), **said)
    learned = learned_of(given, answers, pd.Index(ids, dtype=object))
    if given.split_by is None:
        learned["split"] = split_by_seed(learned["y"], seed, train=0.8, val=0.1)
    if len(learned.get("classes", ())) == 2:
        learned["metric"] = "roc_auc"
    learned |= {"edge_index": edge_index, "x": x, "nodes_per_graph": nodes, "ids": ids}
    return Task.from_arrays(path.stem, categories=ATOM_CATEGORIES, **learned)
