"""``load_task``: a dataset by name, or the user's own."""

import os
from collections.abc import Callable, Collection, Hashable
from dataclasses import replace
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any

from pgso.data import sources as sources
from pgso.data.dataset import DATASETS, Dataset, check_options, check_whole, options_of
from pgso.data.links import LINK_OPTIONS, link_task
from pgso.data.molecules import load_smiles
from pgso.data.places import data_root, ensure_files
from pgso.data.pyg_named import PREFIX, pyg_dataset
from pgso.data.sources.tu import tu_dataset
from pgso.data.tables.archives import load_npz
from pgso.data.tables.columns import Preparation
from pgso.data.tables.folder import Options, load_folder
from pgso.data.task import Task
from pgso.errors import InputError
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
OWN: dict[str, Callable[..., Task]] = {".npz": load_npz, ".csv": load_smiles}


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
    :func:`pgso.data.links.link_task` may be given beside those of the dataset. ``objective`` is
    what is scored (``pgso list objectives``), ``positive`` the one of two classes that scores are
    about, by default the rarer one. ``preparation`` (of a user's table) and ``known`` (nodes that
    edges may lead to) come from a saved model.

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
    ensure_files(dataset, folder)
    of_a_model = {"preparation": preparation, "known": known}
    taken = signature(dataset.load).parameters
    options |= {k: v for k, v in of_a_model.items() if v and k in taken}
    loaded = replace(dataset.load(folder, int(seed), **options), name=dataset.name)
    if task == "link":
        loaded = link_task(loaded, int(seed), **links)
    elif task is not None and task != loaded.kind:
        raise InputError(f"{loaded.name} is a {loaded.kind} task; choose {loaded.kind} or link")
    return loaded.scored_by(objective, positive)


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
    task = _RECENT.pop(key, None) or load_task(
        spec.dataset, root, spec.seed, task=spec.task, objective=spec.objective, **options
    )
    _RECENT[key] = task
    total = 0
    for kept, held in reversed([*_RECENT.items()]):  # about what each takes, with sorted copies
        values = 3 * held.x.values().nbytes if held.x.is_sparse_csr else held.x.nbytes
        total += 4 * held.graph.edge_index.nbytes + values
        if total > MOST_BYTES:
            del _RECENT[kept]
    return task


def _find(name: str, root: Path) -> Dataset:
    """Registered names come first, so that a folder called ``cora`` does not change Cora."""
    if name in DATASETS:
        return DATASETS[name]
    if name.lower().startswith(PREFIX):
        return pyg_dataset(name)
    path = Path(name).expanduser()
    if path.is_dir():
        load = partial(load_folder, path)
        return Dataset(path.resolve().name, load, takes=options_of(Options))
    if path.suffix.lower() in OWN and path.is_file():
        return Dataset(path.stem, partial(OWN[path.suffix.lower()], path))
    if any(mark in name for mark in "/\\") or path.suffix.lower() in OWN:
        forms = "a folder with edges.csv and labels.csv, an .npz archive or a .csv table of SMILES"
        raise InputError(f"there is nothing at {path} that could be loaded; give {forms}")
    if name.lower() in OF_STUDIES:
        raise InputError(
            f"{name} comes with the studies of the paper, a package of their own, pgso-studies, "
            "which is not installed; it is in the folder studies/ of pgso's repository"
        )
    return tu_dataset(name, root) or DATASETS[name]
