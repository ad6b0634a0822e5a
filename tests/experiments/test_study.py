from pgso.experiments.recipes import EXPERIMENTS
from pgso.experiments.study import Size
from pgso.records import RunRecord


def records_of(size: Size, name: str = "sbm_sparsity") -> list[RunRecord]:
    return [RunRecord(spec=spec) for spec in EXPERIMENTS[name].runs(size, {})]


def test_a_page_names_the_largest_size_that_is_whole():
    study = EXPERIMENTS["sbm_sparsity"]
    full, budget = records_of(Size.FULL), records_of(Size.BUDGET)
    assert study.made_with(full) == ""
    assert study.made_with(full[:-1]) == " --budget"
    assert study.made_with(budget) == " --budget"
    assert study.made_with(records_of(Size.QUICK)) == " --quick"
