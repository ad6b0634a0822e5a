import pytest

from pgso.experiments import claims
from pgso.records import RunRecord, RunSpec


def cells(differences: list[float]) -> list[RunRecord]:
    """Cora GCN runs where PGSO differs from the fixed operator by so much, in points."""
    found = []
    for seed, difference in enumerate(differences):
        for operator, test in (("fixed", 0.8), ("pgso", 0.8 + difference / 100)):
            spec = RunSpec(dataset="Cora", operator=operator, seed=seed)
            found.append(RunRecord(spec=spec, val=0.8, test=test, curves={"loss": [1.0, 0.5]}))
    return found


@pytest.mark.parametrize(
    ("differences", "verdict"),
    [
        ([1.0, 1.2, 0.8, 1.1], "holds"),
        ([-1.0, -1.2, -0.8, -1.1], "does not hold"),
        ([1.0, -1.2, 0.8, -1.1], "undecided"),
    ],
)
def test_a_cell_is_judged_by_its_interval(differences: list[float], verdict: str):
    page = claims.page({"node_classification": cells(differences)})
    (row,) = [
        line for line in page.splitlines() if "gcn-pgso is +0.60 points better on Cora" in line
    ]
    assert f"| {verdict} |" in row


def test_what_was_not_run_is_said_and_nothing_is_taken_from_the_paper():
    page = claims.page({})
    rows = [line for line in page.splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 70
    assert all("| not run |" in row for row in rows)
    assert all("| – |" in row for row in rows)
