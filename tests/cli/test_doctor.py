"""``pgso doctor``: what a run will find on this machine."""

import json

import torch

import pgso as package


def test_it_reports_versions_threads_backends_and_data(pgso, tmp_path):
    output = json.loads(pgso("doctor", "--data", tmp_path, "--json").stdout)
    assert output["versions"]["pgso"] == package.__version__
    assert output["versions"]["torch"] == torch.__version__
    assert output["threads"]["torch"] == torch.get_num_threads()
    assert output["backends"]["cuda"] == torch.cuda.is_available()
    assert output["data"]["root"] == str(tmp_path)
    assert output["data"]["here"] == []
    assert "Cora" in output["data"]["absent"]
    assert "karate" in output["data"]["need no files"]


def test_a_dataset_counts_as_here_when_all_its_files_are(pgso, tmp_path):
    from pgso.data import DATASETS

    for file in DATASETS["cora"].files:
        path = tmp_path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    output = json.loads(pgso("doctor", "--data", tmp_path, "--json").stdout)["data"]
    assert output["here"] == ["Cora"]


def test_people_get_a_table_that_names_each_extra(pgso):
    shown = pgso("doctor").stdout
    assert "[molecules]" in shown
    assert "OMP_NUM_THREADS" in shown
