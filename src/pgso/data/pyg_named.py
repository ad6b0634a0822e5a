"""``pyg:CLASS/NAME``: a dataset of PyTorch Geometric by its name, where loading it is safe.

PyG downloads and prepares the files; they stay below ``pyg/`` of the data folder. A class that
reads pickles, or files that torch may only open with pickles, is refused: a pickle is a program.
"""

import inspect
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pgso.data.dataset import Dataset
from pgso.data.places import is_offline, is_writable
from pgso.data.task import Task
from pgso.errors import InputError, UnknownNameError

PREFIX = "pyg:"
UNSAFE = re.compile(r"pickle|torch_?load|torch\.load")
READERS = re.compile(r"from torch_geometric\.io import \(?([\w\s,]+)")
CHOSEN = {("GraphLandDataset", "split"): "RL"}  # of arguments that PyG asks for
PLAIN = (str, bool, int, float)  # types of arguments that may be given as options


def pyg_dataset(name: str) -> Dataset:
    """The dataset behind ``pyg:GraphLand/tolokers-2`` or ``pyg:KarateClub``; nothing is loaded yet.

    What PyG's class takes as text, number or yes and no is an option: ``--option split=RH``.
    """
    import torch_geometric.datasets as shelf
    import torch_geometric.io

    called, _, variant = name[len(PREFIX) :].partition("/")
    classes = {known.lower(): known for known in shelf.__all__}
    known = classes.get(called.lower(), classes.get(f"{called.lower()}dataset"))
    if known is None:
        raise UnknownNameError("dataset of PyG", called, classes.values())
    kind = getattr(shelf, known)

    def source(thing: Any, unknown: str) -> str:
        module = inspect.getmodule(thing)
        return inspect.getsource(module) if module else unknown

    bases = [base for base in kind.__mro__ if base.__module__.startswith(shelf.__name__)]
    sources = [source(base, "pickle") for base in bases]
    for names in READERS.findall(sources[0]):
        readers = re.findall(r"\w+", names)
        sources += [source(getattr(torch_geometric.io, name, None), "") for name in readers]
    if any(UNSAFE.search(text) for text in sources):
        raise InputError(
            f"PyG's {known} reads pickles, which are programs, so pgso does not load it by "
            "name; load it with PyG and hand it over: pgso.Task.from_data(dataset)"
        )
    parameters = inspect.signature(kind.__init__).parameters
    if ("name" in parameters) != bool(variant):
        want = "/NAME behind it" if "name" in parameters else "no /NAME"
        raise InputError(f"{name} cannot be loaded: PyG's {known} takes {want}")
    defaults = {
        key: CHOSEN.get((known, key), parameter.default)
        for key, parameter in parameters.items()
        if key not in ("self", "root", "name") and parameter.kind is not parameter.VAR_KEYWORD
    }
    needed = [key for key, value in defaults.items() if value is inspect.Parameter.empty]
    plain = {key: value for key, value in defaults.items() if isinstance(value, PLAIN)}

    def load(root: Path, seed: int, **chosen: Any) -> Task:
        from pgso.data.pyg import task_from_data

        given = {**plain, **chosen}
        missing = [key for key in needed if given.get(key) is None]
        if missing:
            raise InputError(f"{name} needs the option {missing[0]}: --option {missing[0]}=...")
        if variant:
            given["name"] = variant
        if "root" in parameters:
            given["root"] = str(root / "pyg" / known)
        return task_from_data(_loaded(kind, given, name, root), seed)

    return Dataset(name, load, takes={**plain, **dict.fromkeys(needed)})


def _loaded(kind: Any, given: Mapping[str, Any], name: str, root: Path) -> Any:
    """The dataset, downloaded if it has to be; its prepared file is opened without pickles."""
    import torch
    from torch_geometric.data import Data, InMemoryDataset

    def download(self: Any) -> None:
        if is_offline() or not is_writable(root):
            why = "nothing is downloaded offline" if is_offline() else f"{root} is read-only"
            raise InputError(f"{name} needs files in {self.raw_dir}, and {why}; copy them there")
        kind.download(self)

    def load(self: Any, path: str, data_cls: Any = Data) -> None:
        stored = torch.load(path, map_location="cpu", weights_only=True)
        data, self.slices, data_cls = stored if len(stored) == 3 else (*stored, data_cls)
        self.data = data_cls.from_dict(data) if isinstance(data, dict) else data

    changes: dict[str, Any] = {"load": load} if issubclass(kind, InMemoryDataset) else {}
    if kind.download is not InMemoryDataset.download:  # which downloads nothing
        changes["download"] = download
    try:
        return type(kind.__name__, (kind,), changes)(**given)
    except InputError:
        raise
    except ImportError as error:
        raise InputError(f"{name} needs the package {error.name}; install it with pip") from error
    except Exception as error:  # PyG's classes, their servers and archives fail in many ways
        raise InputError(
            f"PyG could not load {name} ({type(error).__name__}: {error}); look at the name, "
            "the options, and whether this machine is online"
        ) from error
