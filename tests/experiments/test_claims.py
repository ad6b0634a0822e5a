import pytest

from pgso.experiments import claims
from pgso.records import RunRecord, RunSpec


def cells(differences: list[float], dataset: str = "Cora") -> list[RunRecord]:
    """GCN runs where PGSO differs from the fixed operator by so much, in points."""
    found = []
    for seed, difference in enumerate(differences):
        for operator, test in (("fixed", 0.8), ("pgso", 0.8 + difference / 100)):
            spec = RunSpec(dataset=dataset, operator=operator, seed=seed)
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


def test_runs_with_substitute_features_stand_beside_the_claim_and_decide_nothing():
    page = claims.page({"node_classification": cells([1.0, 1.2, 0.8], "ogbn-arxiv-topicbag")})
    (row,) = [line for line in page.splitlines() if "gcn-pgso is +0.92 points" in line]
    assert "| – | not run | without its features; with others, on its graph: +1.0 [" in row


def test_what_was_not_run_is_said_and_nothing_is_taken_from_the_paper():
    page = claims.page({})
    rows = [line for line in page.splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 70
    assert all("| not run |" in row for row in rows)
    assert all("| – |" in row for row in rows)


@pytest.mark.parametrize(
    ("m2", "train", "why"),
    [
        (1.0, 0.9, "S never moves"),
        (0.5, 0.4, "the network underfits (m2 ends at +0.5, 40 % of the training set against 90 %"),
        (0.5, 0.9, "fits the training set as well with another S"),
    ],
)
def test_a_start_that_ends_lower_is_explained_by_how_it_fits(m2: float, train: float, why: str):
    def runs(preset: str, m2: float, train: float, test: float) -> list[RunRecord]:
        start, end = ((0.0, value, 0.0, 0.0, 0.0, 0.0, 0.0) for value in (1.0, m2))
        curves = {"parameters": [[start], [end]], "train": [0.1, train]}
        return [
            RunRecord(
                spec=RunSpec(dataset="Cora", preset=preset, seed=seed),
                test=test + seed / 1000,
                parameters=(end,),
                curves=curves,
            )
            for seed in range(3)
        ]

    usual = runs("gcn", 2.0, 0.9, 0.8)
    lower = [
        r.model_copy(update={"test": 0.3 + r.spec.seed / 500}) for r in runs("mean", m2, train, 0)
    ]
    page = claims.page({"initialisations": [*usual, *lower]})
    (row,) = [line for line in page.splitlines() if "GCN's): mean" in line]
    assert "| does not hold |" in row
    assert why in row
