"""A user's table of molecules: SMILES and labels."""

import warnings
from pathlib import Path

import numpy as np

from pgso.data.arrays import Arrays, is_unknown
from pgso.data.molecules import ATOM_CATEGORIES, Molecule, join, molecule_of
from pgso.data.own.table import Row, check_widths, encode_labels, part_of, read_rows
from pgso.data.splits import split_at_random, split_each_class
from pgso.errors import InputError

MOST_LETTERS = 5_000  # of a SMILES; RDKit takes a second for it, and four for twice as many


def load_smiles(
    path: Path, root: Path, seed: int, *, metric: str = "auto", unlabelled: bool = False
) -> Arrays:
    """A graph task from a CSV file with the columns ``smiles`` and ``label``, or ``target``.

    The columns ``split`` (train, val, test or nothing) and ``id`` may be there too, others are
    ignored. Molecules that RDKit cannot parse are left out, and a warning says how many. Atoms
    have the features of ogbg-molhiv.

    Args:
        path: The table.
        root: Not used.
        seed: Of the split, 80/10/10 (of each class), where the table has none.
        metric: The objective; ``"auto"``: ROC-AUC of two classes, accuracy of more, RMSE of
            targets, which are numbers.
        unlabelled: To predict on: labels and targets are not read, and may be missing.
    """
    header, *rows = read_rows(path)
    columns = {name.lower(): c for c, name in enumerate(header.cells)}
    if "smiles" not in columns or not (unlabelled or columns.keys() & {"label", "target"}):
        raise header.error(
            f"a table of molecules needs a header with the columns smiles and label (or target), "
            f"got {','.join(header.cells)}"
        )
    check_widths([header, *rows], len(header.cells))
    readable_rows, molecules = _parse(rows, columns["smiles"], path)
    regression = "label" not in columns and not unlabelled
    classes: tuple[str, ...] = ()
    if regression:
        y = np.array([[row.optional_number(columns["target"])] for row in readable_rows])
    elif unlabelled:
        y, metric = np.full(len(readable_rows), -1), "accuracy"
    else:
        y, classes = encode_labels([row.cells[columns["label"]] for row in readable_rows])
        if len(classes) < 2:
            raise InputError(f"{path}: column label needs two classes or more, got {len(classes)}")
    if metric == "auto":
        metric = "rmse" if regression else "roc_auc" if len(classes) == 2 else "accuracy"

    nodes, edge_index, x = join(molecules)
    if "split" in columns and not unlabelled:
        part = np.array([part_of(row, columns["split"]) for row in readable_rows])
        split = tuple(np.flatnonzero(part == k) for k in range(3))
    elif regression:
        split = split_at_random(~is_unknown(y), seed, train=0.8, val=0.1)
    else:
        split = split_each_class(y, seed, train=0.8, val=0.1)
    return Arrays(
        edge_index=edge_index,
        x=x,
        y=y,
        split=(split[0], split[1], split[2]),
        classes=classes,
        targets=("target",) if regression else (),
        metric=metric,
        nodes_per_graph=nodes,
        categories=ATOM_CATEGORIES,
        ids=tuple(row.cells[columns.get("id", columns["smiles"])] for row in readable_rows),
    )


def _parse(rows: list[Row], column: int, path: Path) -> tuple[list[Row], list[Molecule]]:
    """The rows whose molecules RDKit can read, and those molecules."""
    readable_rows, molecules, lost = [], [], []
    for row in rows:
        if len(row.cells[column]) > MOST_LETTERS:
            letters = len(row.cells[column])
            raise row.error(f"a SMILES of {letters} letters; at most {MOST_LETTERS} are read")
        molecule = molecule_of(row.cells[column])
        if molecule is None:
            lost.append(row)
        else:
            readable_rows.append(row)
            molecules.append(molecule)
    if not readable_rows:
        raise InputError(f"{path} has no molecule that RDKit can parse; check its column smiles")
    if lost:
        warnings.warn(
            f"{len(lost)} of {len(rows)} molecules of {path} could not be parsed and are left out, "
            f"the first in line {lost[0].line}: {lost[0].cells[column][:80]!r}",
            stacklevel=2,
        )
    return readable_rows, molecules
