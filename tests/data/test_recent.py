"""Own files are read once for the runs that share them, and again when they change."""

import pytest

from pgso import RunSpec
from pgso.data.dataset import DATASETS, Dataset
from pgso.data.load import task_of
from pgso.data.tables import folder as folder_module
from tests.registries import restored


def write(path, labels="abab"):
    path.mkdir(exist_ok=True)
    (path / "edges.csv").write_text("source,target\n0,1\n1,2\n2,3\n")
    rows = "".join(f"{i},{label}\n" for i, label in enumerate(labels * 5))
    (path / "labels.csv").write_text("node,label\n" + rows)
    return path


@pytest.fixture
def reads(monkeypatch):
    """How often edges.csv was read."""
    counted, read = [], folder_module.read_edges
    monkeypatch.setattr(folder_module, "read_edges", lambda *args: counted.append(1) or read(*args))
    return counted


def test_runs_share_the_data_of_their_seed_until_a_file_changes(tmp_path, reads):
    spec = RunSpec(dataset=str(write(tmp_path / "friends")))
    tasks = [task_of(spec.but(operator=name)) for name in ("fixed", "pgso", "mpgso")]
    assert tasks[0] is tasks[1] is tasks[2]
    assert len(reads) == 1
    assert task_of(spec.but(seed=1)) is not tasks[0]
    assert task_of(spec.but(objective="macro_f1")).metric == "macro_f1"
    assert len(reads) == 3
    write(tmp_path / "friends", "aaab")
    assert task_of(spec).y.tolist() == [0, 0, 0, 1] * 5


def test_what_does_not_fit_is_let_go(monkeypatch):
    monkeypatch.setattr("pgso.data.load.MOST_BYTES", 0)
    spec = RunSpec(dataset="karate")
    assert task_of(spec) is not task_of(spec)


def test_a_named_dataset_is_made_once_for_all_runs_of_a_seed():
    loads = []

    def load(root, seed, *, rows=4):
        loads.append(seed)
        return DATASETS["karate"].load(root, seed)

    with restored(DATASETS):
        DATASETS.add(Dataset(name="counted", load=load))
        spec = RunSpec(dataset="counted")
        for seed in (0, 1):
            for one in spec.but(seed=seed).compared:
                task_of(one)
        assert loads == [0, 1]
        task_of(spec.but(data_options={"rows": 5}))
        assert loads == [0, 1, 0]


def test_new_files_of_a_named_dataset_are_read_again(tmp_path):
    loads = []

    def load(root, seed):
        loads.append(seed)
        return DATASETS["karate"].load(root, seed)

    with restored(DATASETS):
        DATASETS.add(Dataset(name="filed", load=load, files=("filed.txt",)))
        file = tmp_path / "filed.txt"
        for text in ("one", "one", "another"):
            if not file.exists() or file.read_text() != text:
                file.write_text(text)
            task_of(RunSpec(dataset="filed"), tmp_path)
    assert len(loads) == 2
