from pathlib import Path

import pytest

from pgso.data import load_task
from pgso.data.dataset import Dataset
from pgso.data.places import ensure_files, fetch_with_pyg
from pgso.errors import InputError


def dataset(download):
    return Dataset("Toy", lambda: None, files=("Toy/raw/a", "Toy/raw/b"), download=download)


def put(root: Path, *names):
    (root / "Toy" / "raw").mkdir(parents=True)
    for name in names:
        (root / "Toy" / "raw" / name).write_text(name)


def test_all_files_arrive_also_those_not_every_dataset_has(tmp_path):
    ensure_files(dataset(lambda root: put(root, "a", "b", "labels")), tmp_path / "new")
    actual = [path for path in (tmp_path / "new").rglob("*") if path.is_file()]
    assert sorted(path.name for path in actual) == ["a", "b", "labels"]


def test_files_that_are_there_are_not_fetched(tmp_path):
    put(tmp_path, "a", "b")
    ensure_files(dataset(lambda root: 1 / 0), tmp_path)


@pytest.mark.parametrize("names", [(), ("a",)], ids=["nothing", "half"])
def test_an_interrupted_download_leaves_nothing(tmp_path, names):
    def fail(root):
        put(root, *names)
        raise OSError("unreachable")

    refused = r"needs .*Toy/raw/a and 1 more.*seems to be offline"
    with pytest.raises(InputError, match=refused) as caught:
        ensure_files(dataset(fail), tmp_path)
    # No pages of the network's own error before it.
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
    assert not list(tmp_path.rglob("a"))
    assert not list(tmp_path.glob(".download*"))


def test_a_download_that_brings_too_little_is_refused(tmp_path):
    with pytest.raises(InputError, match="did not bring b"):
        ensure_files(dataset(lambda root: put(root, "a")), tmp_path)
    assert not list(tmp_path.rglob("a"))


def test_a_read_only_root_is_left_alone(tmp_path):
    tmp_path.chmod(0o555)
    with pytest.raises(InputError, match="is read-only, so nothing is downloaded"):
        ensure_files(dataset(lambda root: 1 / 0), tmp_path)
    tmp_path.chmod(0o755)
    assert not list(tmp_path.glob(".download*"))


def test_what_cannot_be_downloaded_is_asked_for(tmp_path):
    with pytest.raises(InputError, match=r"cannot be downloaded; copy the files there"):
        ensure_files(dataset(None), tmp_path)


@pytest.mark.parametrize("name", ["PubMed", "tu:AIDS", "Squirrel", "Tolokers", "CS", "ogbn-arxiv"])
def test_offline_the_error_says_what_is_missing_and_where(tmp_path, name):
    with pytest.raises(InputError, match="seems to be offline") as caught:
        load_task(name, root=tmp_path)
    assert str(tmp_path) in str(caught.value)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_pyg_fetches_and_does_not_process(tmp_path, monkeypatch):
    from torch_geometric.datasets import Planetoid

    def download(self):
        for name in self.raw_file_names:
            (Path(self.raw_dir) / name).write_text("not a pickle")

    monkeypatch.setattr(Planetoid, "download", download)
    fetch_with_pyg("Planetoid", "", ("Cora",), tmp_path)
    assert (tmp_path / "Cora" / "raw" / "ind.cora.x").read_text() == "not a pickle"
