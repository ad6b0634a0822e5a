from pgso.records import NUMERICS, RunSpec
from pgso.report.provenance import provenance_grids, python_code
from tests.report.records import THREE, make_record, make_runs


def test_the_python_code_runs_the_same_specs_again():
    choices = {"dataset": 'it\'s "mine"', "preset": (0, 1, 0, 0, -1, 0, 0), "learn": ("m1",)}
    records = make_runs(THREE, choices=choices)
    specs = []

    class Library:
        @staticmethod
        def fit(spec):
            specs.append(spec)

    Library.RunSpec = RunSpec
    exec(python_code(records).removeprefix("import pgso\n"), {"pgso": Library})
    assert {spec.key for spec in specs} == {record.spec.key for record in records}


def test_every_run_and_every_choice_is_listed():
    records = [*make_runs(THREE), make_record("auto", 0, 0.5, chosen="pgso")]
    runs, choices, versions = provenance_grids(records)
    assert len(runs.rows) == len(records)
    assert "auto (PGSO)" in [row[0] for row in runs.rows]
    assert len(choices.rows) == len(RunSpec.model_fields) - 2  # but operator and seed
    assert ("torch", "2.13.0") in versions.rows
    assert ("numerics", f"revision {NUMERICS}") in versions.rows
