"""A user's table of molecules: SMILES and labels."""

import warnings
from pathlib import Path

import numpy as np

from pgso.data.arrays import Arrays, is_unknown
from pgso.data.molecules import ATOM_CATEGORIES, Molecule, join, molecule_of
from pgso.data.splits import split_at_random, split_each_class
from pgso.data.tables.answers import LABEL, encode_labels, parts_of
from pgso.data.tables.table import Table, read_table
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
    table = read_table(path).with_header(("smiles", "target", *LABEL), (), "smiles,label")
    columns = {name.lower(): c for c, name in enumerate(table.header or ())}
    if "smiles" not in columns or not (unlabelled or columns.keys() & {"label", "target"}):
        shown = ",".join(table.header or table.first)
        raise table.header_error(
            f"a table of molecules needs a header with the columns smiles and label (or target), "
            f"got {shown}"
        )
    table, molecules = _parse(table, columns["smiles"])
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

    nodes, edge_index, x = join(molecules)
    if "split" in columns and not unlabelled:
        part = parts_of(table, columns["split"])
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
        ids=tuple(table.cells(columns.get("id", columns["smiles"]))),
    )


def _parse(table: Table, column: int) -> tuple[Table, list[Molecule]]:
    """The rows whose molecules RDKit can read, and those molecules."""
    cells = table.cells(column)
    for row, cell in enumerate(cells):
        if len(cell) > MOST_LETTERS:
            raise table.line_error(
                row, f"a SMILES of {len(cell)} letters; at most {MOST_LETTERS} are read"
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
