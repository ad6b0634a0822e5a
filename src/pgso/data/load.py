"""``load_task``: a dataset by name, the user's own, or one of PyTorch Geometric where that is safe.

PyG downloads and prepares files below ``pyg/`` of the data folder. A class that reads pickles, or
files that torch may only open with pickles, is refused: a pickle is a program.
"""

import inspect
import os
import re
from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from pgso.data import sources as sources
from pgso.data.dataset import DATASETS, Dataset, check_options, check_whole, options_of
from pgso.data.links import LINK_OPTIONS, link_task
from pgso.data.molecules import load_smiles
from pgso.data.places import data_root, ensure_files, is_offline, is_writable
from pgso.data.sources.tu import tu_dataset
from pgso.data.tables.archives import load_npz
from pgso.data.tables.columns import Preparation
from pgso.data.tables.folder import Options, load_folder
from pgso.data.task import Task
from pgso.errors import InputError, UnknownNameError
from pgso.records import RunSpec
from pgso.records.files import fingerprint

MOST_BYTES = 2**28  # of all tasks that are held together
_RECENT: dict[Hashable, Task] = {}  # by what they were made of; the one asked for last is the last
OF_STUDIES = (
    *("blogcatalog", "wikipedia-traffic", "us-counties", "arxiv-2023", "planted", "esol"),
    *("freesolv", "lipophilicity", "computers", "photo", "cs", "physics", "roman-empire"),
    *("amazon-ratings", "minesweeper-public", "tolokers", "questions", "chameleon-filtered"),
    "squirrel-filtered",
)
FOLDER_OPTIONS = options_of(Options)
OWN: dict[str, Callable[..., Task]] = {".npz": load_npz, ".csv": load_smiles}
PREFIX = "pyg:"
UNSAFE = re.compile(r"pickle|torch_?load|torch\.load")
READERS = re.compile(r"from torch_geometric\.io import \(?([\w\s,]+)")
CHOSEN = {("GraphLandDataset", "split"): "RL"}  # of arguments that PyG asks for
PLAIN = (str, bool, int, float)  # types of arguments that may be given as options


def load_task(
    name: str | os.PathLike[str],
    root: str | os.PathLike[str] | None = None,
    seed: int = 0,
    *,
    task: str | None = None,
    objective: str | None = None,
    positive: object = None,
    preparation: Preparation | None = None,
    known: Collection[str] = (),
    **options: Any,
) -> Task:
    """Load a node, graph or link task with its splits and objective.

    ``name`` is a registered name, in any case (``pgso list datasets``); ``"tu:NAME"`` for any TU
    dataset; ``"pyg:CLASS/NAME"`` for a dataset of PyG, such as ``"pyg:GraphLand/tolokers-2"``; or
    the path of a user's folder (``edges.csv``, ...), ``.npz`` archive or ``.csv`` table of SMILES.
    Raw files are below ``root``, by default ``$PGSO_DATA``, else ``~/.cache/pgso``. The seed drives
    the split (of ten public splits it takes number ``seed % 10``) and a generated graph.

    With ``task="link"``, links of a node task's graph are predicted, and the options of
    :func:`pgso.data.links.link_task` may be given, too. ``objective`` and ``positive`` are as in
    :meth:`Task.of`; ``preparation`` and ``known``, of a user's table, come from a saved model.

    Example:
        >>> load_task("minesweeper", rows=10, cols=10)
        Task(minesweeper: 1 graph, 100 nodes, 684 edges, 7 features, 2 classes, roc_auc)
    """
    check_whole("seed", seed, 0)
    for what, path in (("a dataset's name or folder", name), ("root", root or "")):
        if not isinstance(path, str | os.PathLike):
            raise InputError(f"{what} must be a text or a path, got {path!r:.80}")
    folder = data_root(root)
    dataset = _find(os.fspath(name), folder)
    links = {}
    if task == "link":
        links = {name: options.pop(name) for name in LINK_OPTIONS if name in options}
        check_options(LINK_OPTIONS, links, dataset.name)
        if "unlabelled" in dataset.options:
            options["unlabelled"] = True  # links need no labels
    check_options(dataset.options, options, dataset.name)
    if dataset.files:
        ensure_files(dataset, folder)
    of_a_model = {"preparation": preparation, "known": known}
    taken = inspect.signature(dataset.load).parameters
    options |= {k: v for k, v in of_a_model.items() if v and k in taken}
    loaded = replace(dataset.load(folder, int(seed), **options), name=dataset.name)
    if name in DATASETS and Path(name).is_dir():
        note = f"this is the dataset {dataset.name}; for your folder of that name give ./{name}"
        loaded = replace(loaded, notes=(*loaded.notes, note))
    if task == "link":
        loaded = link_task(loaded, int(seed), **links)
    elif task is not None and task != loaded.kind:
        raise InputError(f"{loaded.name} is a {loaded.kind} task; choose {loaded.kind} or link")
    is_said = objective is not None or positive is not None
    return loaded.scored_by(objective, positive) if is_said else loaded


def task_of(spec: RunSpec, root: str | os.PathLike[str] | None = None) -> Task:
    """The data of a spec, held for the next run of this process unless the files change."""
    options: dict[str, Any] = dict(spec.data_options)
    state: Any = fingerprint(spec.dataset)
    if spec.dataset in DATASETS:
        named, folder = DATASETS[spec.dataset], data_root(root)
        files = [(folder / file).stat() for file in named.files if (folder / file).is_file()]
        state = (named.load, str(folder), *((file.st_mtime_ns, file.st_size) for file in files))
    chosen = tuple(sorted(options.items()))
    key = (spec.dataset, state, spec.seed, spec.task, spec.objective, chosen)
    options |= {"task": spec.task, "objective": spec.objective}
    task = _RECENT.pop(key, None) or load_task(spec.dataset, root, spec.seed, **options)
    _RECENT[key] = task
    total = 0
    for kept, held in reversed([*_RECENT.items()]):  # about what each takes, with sorted copies
        values = 3 * held.x.values().nbytes if held.x.is_sparse_csr else held.x.nbytes
        total += 4 * held.graph.edge_index.nbytes + values
        if total > MOST_BYTES:
            del _RECENT[kept]
    return task


def state_of(dataset: str) -> str | None:
    """The fingerprint of a user's own files; None for datasets that have a name of their own."""
    return None if dataset in DATASETS else fingerprint(dataset)


def _find(name: str, root: Path) -> Dataset:
    """Registered names come first, so that a folder called ``cora`` does not change Cora."""
    if name in DATASETS:
        return DATASETS[name]
    if name.lower().startswith(PREFIX):
        return pyg_dataset(name)
    path = Path(name).expanduser()
    if path.is_dir():
        load = partial(load_folder, path)
        return Dataset(path.resolve().name, load, options=FOLDER_OPTIONS)
    if path.suffix.lower() in OWN and path.is_file():
        load = partial(OWN[path.suffix.lower()], path)
        return Dataset(path.stem, load, options=options_of(load))
    if any(mark in name for mark in "/\\") or path.suffix.lower() in OWN:
        forms = "a folder with edges.csv and labels.csv, an .npz archive or a .csv table of SMILES"
        raise InputError(f"there is nothing at {path} that could be loaded; give {forms}")
    if name.lower() in OF_STUDIES:
        package = "a package of their own, pgso-studies, which is not installed"
        where = "it is in the folder studies/ of pgso's repository"
        raise InputError(f"{name} comes with the studies of the paper, {package}; {where}")
    return tu_dataset(name, root) or DATASETS[name]


def pyg_dataset(name: str) -> Dataset:
    """The dataset behind ``pyg:GraphLand/tolokers-2``; nothing is loaded yet."""
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
        problem = "reads pickles, which are programs, so pgso does not load it by name"
        advice = "load it with PyG and hand it over: pgso.Task.from_data(dataset)"
        raise InputError(f"PyG's {known} {problem}; {advice}")
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

    return Dataset(name, load, options={**plain, **dict.fromkeys(needed)})


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
        problem = f"PyG could not load {name} ({type(error).__name__}: {error})"
        advice = "look at the name, the options, and whether this machine is online"
        raise InputError(f"{problem}; {advice}") from error
