import ast
from pathlib import Path

import pytest
import torch

import pgso
from pgso.errors import InputError
from pgso.launch import Launch
from pgso.scale.place import Place, joined, place_of
from pgso.training.fit import fit
from tests.training.tasks import karate

SOURCE = Path(pgso.__file__).parent
ASKING = {"is_initialized", "get_rank", "get_world_size", "get_backend", "is_torchelastic_launched"}
VARIABLES = {"RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}


def test_auto_is_a_gpu_if_there_is_one(monkeypatch):
    assert place_of() == place_of("auto") == place_of("cpu") == Place(torch.device("cpu"))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert place_of().device == torch.device("cuda")
    assert place_of("cuda:1").device == torch.device("cuda", 1)
    with pytest.raises(InputError, match="there is no cuda:2: torch sees 2 GPUs here"):
        place_of("cuda:2")


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("gpu", "no device is called 'gpu'; choose cpu, cuda"),
        ("meta", "runs compute on cpu or cuda, not on meta"),
        ("cuda", "there is no cuda: torch sees 0 GPUs here"),
    ],
)
def test_a_device_that_is_not_there_is_refused(monkeypatch, name, problem):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InputError, match=problem):
        fit(karate(), device=name)


def test_processes_of_torchrun_keep_their_own_device(monkeypatch):
    monkeypatch.setattr("pgso.scale.place.launch", lambda: Launch(0, 2, "here", 1))
    with pytest.raises(InputError, match="leave out device 'cuda:1'"), joined("cuda:1"):
        pass


def test_alone_nothing_is_exchanged():
    with joined() as place:
        assert place == place_of()
    assert (place.rank, place.num_ranks) == (0, 1)
    value = torch.ones(3)
    place.average([value, None])
    assert torch.equal(place.gathered(value, [3]), torch.ones(3))


def asks(path):
    """What a file asks torch or the environment about its process."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute) and "dist" in ast.unparse(node.value):
            if node.attr in ASKING:
                yield node.attr
        elif isinstance(node, ast.Constant) and node.value in VARIABLES:
            yield node.value


def test_only_joining_asks_which_process_this_is():
    asking = {path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py") if [*asks(path)]}
    assert asking == {"launch.py", "scale/place.py"}
