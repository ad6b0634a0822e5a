import shutil

import numpy as np
import pytest
import torch

import pgso
from pgso.cli.choices import is_own_folder
from pgso.data import DATASETS, load_task
from pgso.data.load import OF_STUDIES
from pgso.errors import InputError, UnknownNameError
from tests.data.sources.raw_files import write_tu
from tests.registries import restored


def test_load_task_is_public():
    assert pgso.load_task is load_task


@pytest.mark.parametrize(("name", "meant"), [("coraa", "cora"), ("MUTGA", "mutag"), ("smb", "sbm")])
def test_a_misspelt_name_is_answered_with_the_nearest(name, meant, tmp_path):
    with pytest.raises(UnknownNameError, match=f"Did you mean '{meant}'"):
        load_task(name, root=tmp_path)


def test_an_unknown_option_is_answered_with_the_known_ones():
    with pytest.raises(
        InputError, match=r"no option 'k'; its options and defaults are communities"
    ):
        load_task("sbm", k=3)
    with pytest.raises(InputError, match="karate has no option 'k'; it has no options"):
        load_task("karate", k=3)


@pytest.mark.parametrize("seed", [-1, 0.5, "0", True, None])
def test_a_seed_is_a_whole_number(seed):
    with pytest.raises(InputError, match="seed must be a whole number"):
        load_task("karate", seed=seed)


def test_a_seed_may_be_numpy_s():
    assert torch.equal(
        load_task("karate", seed=np.int64(3)).train, load_task("karate", seed=3).train
    )


@pytest.mark.parametrize("name", ["./nothing", "nothing.npz", "nothing.csv", "some/where"])
def test_a_path_with_nothing_there_says_what_could_be(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"there is nothing at .*give a folder with edges\.csv"):
        load_task(name)


def test_a_folder_called_as_a_dataset_does_not_change_it(tmp_path, monkeypatch):
    (tmp_path / "karate").mkdir()
    monkeypatch.chdir(tmp_path)
    task = load_task("karate")
    assert task.num_nodes == 34
    assert task.notes == ("this is the dataset karate; for your folder of that name give ./karate",)
    assert not is_own_folder("karate")  # no model of it is saved as of a user's own
    assert is_own_folder("./karate")


def test_the_root_is_the_argument_before_the_variable(tmp_path, monkeypatch):
    write_tu(tmp_path / "here" / "TOY" / "raw")
    monkeypatch.setenv("PGSO_DATA", str(tmp_path / "elsewhere"))
    assert load_task("TOY", root=tmp_path / "here").num_graphs == 20
    shutil.move(tmp_path / "here", tmp_path / "elsewhere")
    assert load_task("TOY").num_graphs == 20


def test_a_new_file_in_sources_is_found_by_itself():
    from pathlib import Path

    from pgso.data import sources

    files = {path.stem for path in Path(sources.__file__).parent.glob("*.py")} - {"__init__"}
    modules = (getattr(d.load, "func", d.load).__module__ for d in DATASETS.values())
    homes = {name.rpartition(".")[2] for name in modules if name.startswith("pgso.data.sources.")}
    assert homes == files


def test_a_user_s_graph_trains_like_any_other(tmp_path):
    np.savez(tmp_path / "a.npz", edge_index=np.array([[0], [1]]), y=np.array([0, 1] * 9))
    task = load_task(str(tmp_path / "a.npz"))
    assert torch.isfinite(pgso.apply_pgso(task.x, task.graph, "gcn")).all()


def test_datasets_of_the_studies_are_known_by_name_without_their_package():
    assert all(name in DATASETS for name in OF_STUDIES)
    with restored(DATASETS):
        DATASETS._entries.pop("esol")
        with pytest.raises(InputError, match=r"ESOL comes with the studies .* not installed"):
            load_task("ESOL")
