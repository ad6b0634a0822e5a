"""Molecules as graphs: OGB's nine integer features of an atom, by RDKit."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pgso.data.arrays import Array
from pgso.errors import InputError

# What an integer stands for, column by column. The last value of a list means "anything else".
ATOM_FEATURES: tuple[tuple[str, list[Any]], ...] = (
    ("atomic number", [*range(1, 119), None]),
    ("chirality", ["UNSPECIFIED", "TETRAHEDRAL_CW", "TETRAHEDRAL_CCW", "OTHER", None]),
    ("degree", [*range(11), None]),
    ("formal charge", [*range(-5, 6), None]),
    ("hydrogens", [*range(9), None]),
    ("radical electrons", [*range(5), None]),
    ("hybridisation", ["SP", "SP2", "SP3", "SP3D", "SP3D2", None]),
    ("aromatic", [False, True]),
    ("in a ring", [False, True]),
)
ATOM_CATEGORIES = tuple(len(values) for _, values in ATOM_FEATURES)

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
    chem = _rdkit()
    molecule = chem.MolFromSmiles(smiles)
    if molecule is None or molecule.GetNumAtoms() == 0:
        return None
    atoms = [
        _encode(
            ATOM_FEATURES,
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
        for atom in molecule.GetAtoms()
    ]
    bonds = [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in molecule.GetBonds()]
    return atoms, bonds


def scaffold_of(smiles: str) -> str:
    """The Bemis-Murcko scaffold: rings and what joins them, as SMILES; empty without rings.

    Example:
        >>> scaffold_of("Cc1ccccc1")  # toluene
        'c1ccccc1'
    """
    _rdkit()
    from rdkit.Chem.Scaffolds import MurckoScaffold

    scaffold: str = MurckoScaffold.MurckoScaffoldSmiles(smiles, includeChirality=False)
    return scaffold


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


def _encode(features: Sequence[tuple[str, list[Any]]], *properties: Any) -> list[int]:
    return [
        values.index(value) if value in values else len(values) - 1
        for (_, values), value in zip(features, properties, strict=True)
    ]


def _rdkit() -> Any:
    try:
        from rdkit import Chem, rdBase
    except ImportError:
        raise InputError(
            "SMILES need RDKit, which is not installed; try pip install 'pgso[molecules]'"
        ) from None
    rdBase.DisableLog("rdApp.*")  # we count what cannot be parsed ourselves
    return Chem
