"""What is known about data is computed once and read afterwards."""

from pgso import RunSpec
from pgso.cli.choices import data_of
from pgso.records import RunRecord, Store


def test_one_record_a_split_whatever_the_model(tmp_path, monkeypatch):
    store = Store(tmp_path)
    spec = RunSpec(dataset="karate")
    specs = [spec.but(seed=seed, operator=name) for seed in (0, 1) for name in ("fixed", "pgso")]
    first = data_of([RunRecord(spec=one) for one in specs], store, None)
    assert [record.spec.seed for record in first] == [0, 1]
    assert {entry.name for entry in first[0].baselines} == {"guess", "graph"}
    monkeypatch.setattr("pgso.evaluation.baselines.data_record", None)  # it is not computed again
    others = [RunRecord(spec=one.but(conv="gat")) for one in specs]
    assert data_of(others, store, None) == first


def test_files_that_have_changed_are_described_again(tmp_path):
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "edges.csv").write_text("".join(f"{k},{k + 1}\n" for k in range(30)))
    (folder / "labels.csv").write_text("".join(f"{k},{'xy'[k % 2]}\n" for k in range(31)))
    store, spec = Store(tmp_path / "runs"), RunSpec(dataset=str(folder))
    assert data_of([RunRecord(spec=spec)], store, None)[0].num_nodes == 31
    assert store.data(spec) is not None
    with (folder / "edges.csv").open("a") as file:
        file.write("30,31\n")
    assert store.data(spec) is None
    assert data_of([RunRecord(spec=spec)], store, None)[0].num_nodes == 32
