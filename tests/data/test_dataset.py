import math
import subprocess
import sys
from pathlib import Path

import pytest

from pgso.data import DATASETS, load_task
from pgso.data.dataset import check_choice
from pgso.errors import InputError, UnknownNameError


def test_names_are_found_in_any_case():
    assert DATASETS["CORA"] is DATASETS["cora"] is DATASETS["Cora"]
    assert "IMDB-Binary" in DATASETS
    assert "Nora" not in DATASETS
    with pytest.raises(UnknownNameError, match="Did you mean 'cora'"):
        DATASETS["Nora"]


def test_options_are_those_of_the_loader():
    assert DATASETS["cora"].options == {"split": "public", "normalise": True}
    assert DATASETS["karate"].options == {}


def test_the_list_of_datasets_needs_neither_torch_nor_files():
    code = "import sys; from pgso.data import DATASETS; assert DATASETS['cora'].sizes.nodes == 2708"
    code += "; assert not {'torch', 'scipy', 'sklearn', 'networkx'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_missing_files_are_named(tmp_path):
    missing = DATASETS["minesweeper-public"].missing(tmp_path)
    assert missing == [tmp_path / Path("Heterophilous/minesweeper/raw/minesweeper.npz")]
    assert DATASETS["minesweeper"].missing(tmp_path) == []


def test_a_choice_is_one_of_a_few_words():
    check_choice("split", "public", ("public", "random"))
    with pytest.raises(InputError, match="split must be one of public, random; got None"):
        check_choice("split", None, ("public", "random"))


@pytest.mark.parametrize(
    "options",
    [{"mines": "x"}, {"rows": {}}, {"hidden": "0.5"}],
    ids=str,
)
def test_an_option_of_another_type_than_its_default_is_refused(options):
    with pytest.raises(InputError, match="its default is"):
        load_task("minesweeper", **options)
    for name, value in (("mines", math.nan), ("hidden", math.inf), ("rows", math.inf)):
        with pytest.raises(InputError, match=f"{name}.* must be"):
            load_task("minesweeper", **{name: value})
    for name, value in (("val", "some"), ("negatives", 1)):
        with pytest.raises(InputError, match=f"the option {name} of karate cannot be"):
            load_task("karate", task="link", **{name: value})
