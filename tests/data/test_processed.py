import multiprocessing
import os

import numpy as np
import pytest

from pgso.data import places as processed
from pgso.data.places import cached


@pytest.fixture
def raw(tmp_path):
    path = tmp_path / "raw.txt"
    path.write_text("raw")
    return path


def build():
    """A transposed array too: what lies in memory is not what it reads like."""
    return {"x": np.arange(12.0).reshape(3, 4).T, "y": np.arange(3, dtype=np.int8)}


def forbidden():
    raise AssertionError("built although a copy is there")


def assert_built(found):
    assert sorted(found) == ["x", "y"]
    assert all(np.array_equal(found[key], value) for key, value in build().items())


def test_a_copy_is_built_once(raw, cache_folder):
    assert_built(cached("name", [raw], build))
    assert_built(cached("name", [raw], forbidden))
    assert [path.suffix for path in cache_folder.iterdir()] == [".safetensors"]


def test_a_changed_file_or_version_gets_a_new_copy(raw, cache_folder, monkeypatch):
    cached("name", [raw], build)
    raw.write_text("longer than before")
    cached("name", [raw], build)
    os.utime(raw, ns=(1, 1))
    cached("name", [raw], build)
    monkeypatch.setattr(processed, "VERSION", processed.VERSION + 1)
    cached("name", [raw], build)
    assert len(list(cache_folder.iterdir())) == 4


def test_a_damaged_copy_is_built_anew(raw, cache_folder):
    cached("name", [raw], build)
    (copy,) = cache_folder.iterdir()
    whole = copy.read_bytes()
    flipped = bytearray(whole)
    flipped[-5] ^= 1  # in the numbers, which safetensors itself does not check
    for content in (b"", whole[:40], whole[:-1], bytes(flipped)):
        copy.write_bytes(content)
        assert_built(cached("name", [raw], build))
        assert copy.read_bytes() == whole


def test_a_failing_build_leaves_nothing(raw, cache_folder):
    with pytest.raises(ZeroDivisionError):
        cached("name", [raw], lambda: 1 / 0)
    assert not cache_folder.exists() or not list(cache_folder.iterdir())


def test_an_interrupted_write_leaves_nothing(raw, cache_folder, monkeypatch):
    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr("os.replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        cached("name", [raw], build)
    assert not list(cache_folder.iterdir())


def test_a_full_disc_costs_the_copy_only(raw, cache_folder, monkeypatch):
    def full(*args):
        raise OSError("no space left on device")

    monkeypatch.setattr("os.replace", full)
    assert_built(cached("name", [raw], build))
    assert not list(cache_folder.iterdir())


def test_a_read_only_place_is_left_alone(raw, cache_folder):
    cache_folder.mkdir()
    cache_folder.chmod(0o555)
    assert_built(cached("name", [raw], build))
    assert not list(cache_folder.iterdir())
    cache_folder.chmod(0o755)


def _build_many_times(path):
    for _ in range(30):
        assert_built(cached("name", [path], build))
        for copy in processed.processed_root().glob("*.safetensors"):
            copy.unlink(missing_ok=True)


def test_two_processes_may_build_and_remove_at_once(raw, cache_folder):
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=_build_many_times, args=(raw,)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0]
    assert not list(cache_folder.glob("*.part"))
