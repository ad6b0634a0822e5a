"""Published facts about the regression and multi-label data, where their files are here."""

import csv

import numpy as np
import pytest
import torch

from pgso.data import DATASETS, load_task
from pgso.data.places import data_root
from pgso.errors import InputError


def need(name):
    if DATASETS[name].missing(data_root()):
        pytest.skip(f"the files of {name} are not here")


@pytest.mark.parametrize(
    ("name", "low", "high", "mean"),
    [
        ("ESOL", -11.6, 1.58, -3.05),
        ("FreeSolv", -25.47, 3.43, -3.80),
        ("Lipophilicity", -1.5, 4.5, 2.19),
        ("Wikipedia-traffic", 2.71, 13.14, None),
    ],
)
def test_targets_have_the_published_range(name, low, high, mean):
    need(name)
    if name != "Wikipedia-traffic":  # a table of molecules
        pytest.importorskip("rdkit")
    y = load_task(name).y
    assert float(y.min()) == pytest.approx(low, abs=0.005)
    assert float(y.max()) == pytest.approx(high, abs=0.005)
    assert mean is None or float(y.mean()) == pytest.approx(mean, abs=0.005)


def test_molecules_of_one_scaffold_stay_together():
    need("ESOL")
    rdkit = pytest.importorskip("rdkit.Chem.Scaffolds.MurckoScaffold")
    path = data_root() / "molecules/esol.csv"
    with path.open(newline="") as file:
        smiles = [row["smiles"].strip() for row in csv.DictReader(file)]
    task, other = load_task("ESOL", seed=0), load_task("ESOL", seed=5)
    assert torch.equal(task.test, other.test)  # no seed
    parts = [
        {rdkit.MurckoScaffoldSmiles(smiles[i]) for i in part}
        for part in (task.train, task.val, task.test)
    ]
    assert not parts[0] & parts[1]
    assert not parts[0] & parts[2]
    assert not parts[1] & parts[2]
    assert not torch.equal(load_task("ESOL", split="random").test, task.test)


RANGES = {
    "election": (-0.915, 0.935),
    "income": (22_045, 134_609),
    "education": (0, 78.5),
    "unemployment": (1.7, 24.1),
    "migration": (-108.2, 209.7),
    "birth": (0, 29.1),
    "death": (0, 34.4),
}


@pytest.mark.parametrize("target", RANGES)
def test_each_of_the_seven_numbers_of_a_county_can_be_the_target(target):
    need("US-counties")
    task = load_task("US-counties", target=target)
    y = task.y[task.y.isfinite()]
    low, high = RANGES[target]
    assert float(y.min()) == pytest.approx(low, abs=0.05 if high > 1 else 0.001)
    assert float(y.max()) == pytest.approx(high, abs=0.05 if high > 1 else 0.001)
    assert task.targets == (target,)
    assert set(task.columns) == RANGES.keys() - {target}
    known = torch.cat([task.train, task.val, task.test])
    assert task.y[known].isfinite().all()
    assert len(known) == int(task.y.isfinite().sum())


def test_counties_without_a_value_are_those_that_are_known_to_lack_one():
    need("US-counties")
    every = [load_task("US-counties", target=target).y for target in RANGES]
    missing = torch.cat(every, dim=1).isnan()
    assert int(missing.any(dim=1).sum()) == 123
    assert int(missing[:, 0].sum()) == 122  # the election
    with pytest.raises(InputError, match="year must be 2012 or 2016, got 2014"):
        load_task("US-counties", year=2014)


def test_bloggers_have_several_groups():
    need("BlogCatalog")
    y = load_task("BlogCatalog").y
    assert int(y.sum()) == 14_476
    assert (int(y.sum(1).min()), int(y.sum(1).max())) == (1, 11)


def test_diabetes_needs_no_files_and_takes_other_numbers_of_neighbours():
    task = load_task("diabetes")
    assert (task.metric, task.targets, task.num_nodes) == ("rmse", ("progression",), 442)
    np.testing.assert_allclose(task.x.std(0, correction=0), 1, rtol=1e-4)
    assert load_task("diabetes", neighbours=3).num_edges < task.num_edges
    with pytest.raises(InputError, match="neighbours must be a whole number from 1 to 441"):
        load_task("diabetes", neighbours=0)
