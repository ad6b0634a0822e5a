import pytest

from pgso.records import RunRecord, RunSpec
from pgso_studies.study import EXPERIMENTS, Size, needed, whole


def records_of(size: Size, name: str = "spectral_support") -> list[RunRecord]:
    return [RunRecord(spec=spec) for spec in EXPERIMENTS[name].runs(size, {})]


def test_a_page_says_its_revision_its_command_and_what_was_left_out():
    study, records = EXPERIMENTS["spectral_support"], records_of(Size.FULL)
    footer = study.footer("spectral_support", records)
    assert f"Revision {records[0].numerics} of the numerics" in footer
    assert "`pgso run spectral_support`" in footer
    assert "Left out" not in footer
    assert "Left out so far: Cora (1)." in study.footer("spectral_support", records[:-1])
    quick = study.footer("spectral_support", records_of(Size.QUICK))
    assert "`pgso run spectral_support --quick`" in quick


def test_the_whole_study_has_its_later_stages():
    study = EXPERIMENTS["node_classification"]
    first, _ = needed(study, Size.QUICK, {})
    specs = whole(study, Size.QUICK)
    assert len(specs) > len(first)
    done = {spec.key: RunRecord(spec=spec, val=0.5) for spec in specs}
    assert needed(study, Size.QUICK, done)[1] == []


@pytest.mark.parametrize("name", ["node_classification", "graph_classification"])
def test_every_operator_has_the_same_runs_in_the_tables(name: str):
    counts: dict[tuple[str, str], dict[str, int]] = {}
    for spec in whole(EXPERIMENTS[name], Size.FULL):
        cell = counts.setdefault((spec.dataset, spec.conv), {})
        cell[spec.operator] = cell.get(spec.operator, 0) + 1
    assert len(counts) == 4 * (3 if name == "node_classification" else 5)
    assert all(len(cell) == 3 and len(set(cell.values())) == 1 for cell in counts.values())


def test_table_4_has_three_times_ten_folds_under_both_protocols_and_tunes_elsewhere():
    specs = [s for s in whole(EXPERIMENTS["graph_classification"], Size.FULL) if s.conv == "gin"]
    mutag = [s for s in specs if s.dataset == "MUTAG" and s.operator == "pgso"]
    tuning = [s for s in mutag if s.seed >= 30]
    assert {s.seed // 10 for s in tuning} == {10}
    assert len({(s.hidden_channels, s.num_layers) for s in tuning}) == 9
    for protocol in ({}, {"protocol": "gin"}):
        seeds = [s.seed for s in mutag if s.seed < 100 and s.data_options == protocol]
        assert sorted(seeds) == list(range(30))
    assert {s.epochs >= 20 for s in specs if s.dataset == "ogbg-molhiv"} == {True}


def test_block_models_have_25_graphs_a_level_in_four_variants():
    specs = EXPERIMENTS["sbm_sparsity"].runs(Size.FULL, {})
    variants: dict[tuple[object, ...], list[RunSpec]] = {}
    for spec in specs:
        key = (spec.data_options["attributes"], spec.norm, spec.input_dropout)
        variants.setdefault(key, []).append(spec)
    assert [len(runs) for runs in variants.values()] == [15 * 25] * 4
