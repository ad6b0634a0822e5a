import pickle
import shutil

import numpy as np
import pytest

from pgso.data.sources import nodes
from pgso.errors import InputError
from tests.data.sources.raw_files import TOY_PLANETOID, write_planetoid


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setitem(nodes.PLANETOID, "Toy", TOY_PLANETOID)
    folder = tmp_path / "Toy" / "raw"
    write_planetoid(folder)
    return folder


def load(folder, **options):
    return nodes.load_planetoid("Toy", folder.parent.parent, 0, **options)


def test_test_nodes_find_their_place_and_missing_ones_stay_isolated(folder):
    task = load(folder, normalise=False)
    x = task.x
    assert x[502].tolist() == [2, 2, 0]
    assert x[503].tolist() == [0, 0, 0]
    assert x[504].tolist() == [0, 0, 5]
    assert task.y[[502, 504]].tolist() == [0, 1]
    assert task.graph.edge_index.tolist() == [[1, 0, 502, 1], [0, 1, 1, 502]]


def test_rows_sum_to_one_unless_they_are_empty(folder):
    total = load(folder).x.numpy().sum(axis=1)
    assert total[503] == 0
    np.testing.assert_allclose(np.delete(total, 503), 1, rtol=1e-6)


def test_the_public_split_ignores_the_seed_and_the_random_one_does_not(folder):
    public = load(folder)
    assert [len(part) for part in (public.train, public.val, public.test)] == [2, 500, 2]
    assert public.test.tolist() == [502, 504]
    root = folder.parent.parent
    random = [nodes.load_planetoid("Toy", root, seed, split="random") for seed in (0, 0, 1)]
    assert np.array_equal(random[0].train, random[1].train)
    assert not np.array_equal(random[0].train, random[2].train)
    parts = random[0].train, random[0].val, random[0].test
    assert [round(len(part) / 505, 1) for part in parts] == [0.6, 0.2, 0.2]


def test_an_unknown_split_is_refused(folder):
    with pytest.raises(InputError, match="split must be one of public, random"):
        load(folder, split="publik")


@pytest.mark.parametrize("part", nodes.PARTS)
def test_any_file_truncated_emptied_or_swapped_is_one_clear_error(folder, part):
    path = folder / f"ind.toy.{part}"
    whole = path.read_bytes()
    other = (folder / f"ind.toy.{'tx' if part != 'tx' else 'ally'}").read_bytes()
    for content in (b"", whole[: len(whole) // 2], other):
        path.write_bytes(content)
        with pytest.raises(InputError) as caught:
            load(folder)
        assert "Toy" in str(caught.value)


def test_files_of_another_dataset_are_recognised(folder, monkeypatch):
    monkeypatch.setitem(nodes.PLANETOID, "Toy", TOY_PLANETOID._replace(nodes=2708))
    with pytest.raises(InputError, match="hold 505 nodes, but Toy has 2708"):
        load(folder)


def test_indices_out_of_range_are_refused(folder):
    (folder / "ind.toy.test.index").write_text("504\n999999\n")
    with pytest.raises(InputError, match=r"test\.index: an index is 999999"):
        load(folder)


def test_a_bom_crlf_and_no_newline_at_the_end_change_nothing(folder, tmp_path):
    before = load(folder)
    (folder / "ind.toy.test.index").write_bytes(b"\xef\xbb\xbf504\r\n502")
    after = load(folder)
    assert np.array_equal(before.y, after.y)
    shutil.rmtree(folder)


def test_a_list_that_stands_in_many_places_is_refused_before_it_is_spelt_out(folder):
    shared = list(range(500))
    path = folder / "ind.toy.graph"
    path.write_bytes(pickle.dumps(dict.fromkeys(range(500), shared), 2))
    with pytest.raises(InputError, match="dictionary of neighbours"):
        load(folder)
