"""The atlas: what is asked, when a verdict agrees with the truth, and what the page says."""

from pathlib import Path

import pytest

from pgso.data import DATASETS
from pgso.gso.parameters import PRESETS
from pgso.records.finding import RungRecord
from pgso.training.fit import fit
from pgso_studies.atlas import agrees
from pgso_studies.ledger import read_ledger
from pgso_studies.planted import WORLDS
from pgso_studies.study import EXPERIMENTS, Size

ATLAS = EXPERIMENTS["atlas"]


RESULTS = Path(__file__).parents[2] / "results"


@pytest.mark.parametrize(
    ("world", "seed"),
    [("core-periphery-6", 0), ("core-periphery-6", 2), ("blocks-4-0", 1), ("blocks-2-0.1", 2)],
)
def test_find_keeps_what_was_published(world, seed):
    (published,) = (
        record
        for record in read_ledger(RESULTS / "atlas" / "records.jsonl").values()
        if record.spec.data_options == {"world": world} and record.spec.seed == seed
    )
    again = fit(published.spec)
    assert again.chosen == published.chosen
    assert again.test == pytest.approx(published.test)


def rung(family, preset=None):
    return RungRecord(
        name="r", family=family, terms=("self",), blocks=("x",), scales=(1.0,),
        S=None if preset is None else PRESETS[preset].as_floats(), hops=1, penalty=1.0,
        loo_loss=0.5, loss=0.5, loo=0.5, val=0.5, test=0.5, points=0.0, seconds=0.1,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("truth", "right", "wrong"),
    [
        ("features", rung("features"), rung("own", "gcn")),
        ("neighbours", rung("own", "gcn"), rung("features")),
        ("neighbours", rung("presets", "mean"), rung("directions", "mean")),
        ("separate", rung("banks", "mean"), rung("own", "gcn")),
        ("degrees", rung("presets", "adjacency"), rung("banks", "mean")),
        ("degrees", rung("presets", "signless_laplacian"), rung("features")),
        ("direction", rung("directions", "gcn"), rung("banks", "gcn")),
    ],
)
def test_a_verdict_agrees_or_not(truth, right, wrong):
    assert agrees(right, truth)
    assert not agrees(wrong, truth)


def test_every_truth_has_a_rule_and_twenty_worlds_have_one():
    assert len(WORLDS) >= 20
    truths = {world.truth for world in WORLDS.values()}
    assert truths == {"features", "neighbours", "separate", "degrees", "direction"}


def test_datasets_whose_files_are_absent_are_left_out(tmp_path, monkeypatch):
    monkeypatch.setenv("PGSO_DATA", str(tmp_path))
    asked = {spec.dataset for spec in ATLAS.runs(Size.FULL, {})}
    assert asked >= {"customers", "karate", "digits", "diabetes", "minesweeper", "planted"}
    assert not any(DATASETS[name].files for name in asked)
    done = {spec.key: None for spec in ATLAS.runs(Size.QUICK, {})}
    assert all(spec.head == "closed_form" for spec in ATLAS.runs(Size.FULL, done))


def test_the_page_counts_winners_and_agreements(tmp_path):
    records = [fit(spec) for spec in ATLAS.runs(Size.QUICK, {})]
    page = ATLAS.page(records, tmp_path)
    right = sum(
        agrees(r.finding.rung(r.finding.best), WORLDS[r.spec.data_options["world"]].truth)
        for r in records
        if r.spec.dataset == "planted"
    )
    assert f"agrees with what was planted on {right} of 3 graphs" in page
    assert "| karate | accuracy |" in page
    assert (tmp_path / "atlas.png").exists()
