"""A chemist's rival: a random forest on Morgan fingerprints of the SMILES (rdkit)."""

import os
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.rivals.problem import Answer, Array, Problem
from benchmarks.rivals.tabular import all_classes

BITS, RADIUS, TREES = 2048, 2, 200
LEAVES = (1, 2, 5)


def forest(problem: Problem, smiles: str) -> Answer:
    """The forest whose least size of a leaf the validation labels choose.

    Args:
        problem: One item per molecule, in the order of the table.
        smiles: The table, below the data root.
    """
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    table, atoms = fingerprints(Path(os.environ["PGSO_DATA"]) / smiles)
    is_read = atoms > 0
    same = (
        len(atoms) == len(problem.y) and (atoms == problem.nodes_per_graph.numpy())[is_read].all()
    )
    assert same, "the table's molecules are not the task's graphs"
    kind = RandomForestClassifier if problem.is_class else RandomForestRegressor
    columns = "sqrt" if problem.is_class else 1 / 3

    def fit(leaf: int) -> Array:
        model = kind(TREES, min_samples_leaf=leaf, max_features=columns, random_state=problem.seed)
        model.fit(table[problem.train], problem.y[problem.train])
        if problem.is_class:
            return all_classes(model.predict_proba(table), model.classes_, problem)
        values: Array = model.predict(table)[:, None]
        return values

    return problem.best(LEAVES, fit)


def fingerprints(path: Path) -> tuple[Array, Array]:
    """Bits of the substructures around every atom, (molecules, BITS), and the numbers of atoms.

    Both are 0 where rdkit cannot read a molecule.
    """
    from rdkit import Chem, RDLogger
    from rdkit.Chem import rdFingerprintGenerator

    RDLogger.DisableLog("rdApp.*")
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=RADIUS, fpSize=BITS)
    rows, atoms = [], []
    for text in pd.read_csv(path)["smiles"]:
        molecule = Chem.MolFromSmiles(text.strip())
        empty = np.zeros(BITS, dtype=np.uint8)
        rows.append(empty if molecule is None else generator.GetFingerprintAsNumPy(molecule))
        atoms.append(0 if molecule is None else molecule.GetNumAtoms())
    return np.stack(rows), np.array(atoms)
