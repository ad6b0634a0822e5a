"""Saved models on disk: safetensors and JSON, nothing that could run code.

A saved model is a *header*: nested plain data with tensors in it, in a ``.safetensors`` file or in
a folder of ``model.json`` and ``weights.safetensors``. What it claims is checked first.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from pgso.data.task import IN_MEMORY, Task
from pgso.errors import InputError
from pgso.graph import Graph, Relations
from pgso.records.files import free_name, write_beside

HEADER, WEIGHTS = "model.json", "weights.safetensors"
LARGEST_HEADER = 2**26  # bytes
OF_TASK = ("classes", "targets", "categories", "columns", "positive", "num_features", "num_nodes")
TENSOR = "tensor"  # the key of what stands for a tensor in plain data: its name


def header_of(
    task: Task,
    spec: Mapping[str, Any],
    strangeness: Any,  # (n,) or (n, T) of numpy; None or empty: no prediction sets
    coverage: Mapping[str, float] | None,
    remembered: Task | None,
) -> dict[str, Any]:
    """What every saved model says about its run and its data.

    ``strangeness`` is what prediction sets are made from, ``coverage`` how often they hold the
    truth on test; ``remembered`` are the data whose graph is kept for new nodes, if it is.
    """
    no_sets, preparation = strangeness is None or not len(strangeness), task.preparation
    memory = None
    if remembered is not None and remembered.kind == "node" and remembered.ids is not None:
        relations, x = remembered.relations, remembered.x.detach()
        kinds = {"": remembered.graph} if relations is None else relations.graphs
        ids = json.dumps(remembered.ids, ensure_ascii=False).encode()
        is_dense = x.layout == torch.strided
        memory = {
            "ids": torch.frombuffer(bytearray(ids), dtype=torch.uint8),
            "x": x if is_dense else [x.crow_indices(), x.col_indices(), x.values()],
            "columns": x.size(1),
            "relations": None if relations is None else list(kinds),
            "edges": [[graph.edge_index, graph.edge_weight] for graph in kinds.values()],
        }
    return {
        "spec": spec,
        "kind": task.kind,
        **{name: getattr(task, name) for name in OF_TASK},
        "preparation": None if preparation is None else preparation.model_dump(mode="json"),
        "objective": task.metric,
        "strangeness": None if no_sets else torch.from_numpy(strangeness),
        "coverage": coverage,
        "memory": memory,
    }


def write_model(path: str | os.PathLike[str], header: Mapping[str, Any]) -> None:
    """Write a model whole or not at all; another model of that name is kept under another one."""
    path = Path(path)
    if path.suffix == ".safetensors":
        write_beside(path, packed(header))
        return
    check_folder(path)
    tensors: dict[str, Tensor] = {}
    written = _plain(header, "", tensors)
    path.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}.pgso-"))
    try:
        (made / WEIGHTS).write_bytes(save(tensors, metadata={"pgso": "{}"}))
        text = json.dumps(written, indent=1, ensure_ascii=False) + "\n"
        (made / HEADER).write_text(text, encoding="utf-8")
        made.chmod(0o755)
        files = [(path / name, made / name) for name in (HEADER, WEIGHTS)]
        is_same = all(old.is_file() and old.read_bytes() == new.read_bytes() for old, new in files)
        if path.exists() and not is_same:
            path.rename(free_name(path))
        if not path.exists():
            made.rename(path)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def check_folder(path: Path) -> None:
    """Refuse to write a model where there is something else, such as the user's data."""
    is_model = (path / HEADER).is_file()
    is_free = not path.exists() or (path.is_dir() and path.name and not any(path.iterdir()))
    if not (is_model or is_free):
        raise InputError(f"{path} is there already and is not a saved model; choose another name")


def read_model(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The header of a saved model, with its tensors."""
    path = Path(path).expanduser()
    if not path.is_dir():
        return unpacked(path)
    if not (path / HEADER).is_file():
        raise InputError(f"there is no saved model in {path}; write one with --save")
    with naming(path):
        if (path / HEADER).stat().st_size > LARGEST_HEADER:
            raise ValueError("its header is too large")
        written = (path / HEADER).read_text(encoding="utf-8")
    return unpacked(path / WEIGHTS, written)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Say which file is broken, in one sentence."""
    problems = (LookupError, TypeError, ValueError, AttributeError, RuntimeError, OSError)
    try:
        yield
    except (*problems, SafetensorError) as error:
        reason = f"{type(error).__name__}: {error}"[:200]
        raise InputError(
            f"{path} is not a file that pgso has saved ({reason}); remove it, or write it again"
        ) from None


def _plain(value: Any, name: str, tensors: dict[str, Tensor]) -> Any:
    """Plain data in which names stand for tensors, which are collected by these names."""
    if isinstance(value, Tensor):
        tensors[name] = value.detach().cpu().contiguous()
        return {TENSOR: name}
    if isinstance(value, Mapping):
        each = value.items()
        return {key: _plain(part, f"{name}/{key}".strip("/"), tensors) for key, part in each}
    if isinstance(value, list | tuple):
        return [_plain(part, f"{name}/{k}", tensors) for k, part in enumerate(value)]
    return value


def packed(header: Mapping[str, Any]) -> bytes:
    """A header as one safetensors file."""
    tensors: dict[str, Tensor] = {}
    written = _plain(header, "", tensors)
    return save(tensors, metadata={"pgso": json.dumps(written)})


def unpacked(path: Path, text: str | None = None) -> dict[str, Any]:
    """The header of one safetensors file; its plain data may be a text beside it."""
    if not path.exists():
        raise InputError(f"there is no saved model at {path}; write one with --save")
    with naming(path), safe_open(path, framework="pt") as file:
        # Copies are aligned in memory: sums over other numbers differ in their last digits.
        tensors = {name: file.get_tensor(name).clone() for name in list(file.keys())}
        written = (file.metadata() or {})["pgso"] if text is None else text

        def whole(part: dict[str, Any]) -> Any:
            return tensors[part[TENSOR]] if part.keys() == {TENSOR} else part

        header = json.loads(written, object_hook=whole)
        if not isinstance(header, dict):
            raise ValueError("its header is no dictionary")
        return header


def count_of(value: Any) -> int:
    """A number of things that a header claims."""
    if type(value) is not int or not 0 <= value < 2**40:
        raise ValueError(f"{value!r:.40} is no count")
    return value


def memory_of(state: Mapping[str, Any]) -> Task:
    """The graph that a model remembers, as a task without answers; what does not fit is refused."""
    ids, x = json.loads(bytes(state["ids"].numpy()).decode()), state["x"]
    if not (isinstance(ids, list) and all(isinstance(name, str) for name in ids)):
        raise ValueError("names of nodes that are no words")
    n, columns = len(ids), count_of(state["columns"])
    if isinstance(x, list):
        rows, at, values = x
        x = torch.sparse_csr_tensor(rows, at, values, (n, columns), check_invariants=True)
    if x.shape != (n, columns):
        raise ValueError(f"{n} nodes have features of shape {tuple(x.shape)}")
    graphs = []
    for edge_index, weight in state["edges"]:
        if edge_index.dim() != 2 or edge_index.size(0) != 2:
            raise ValueError(f"edges of shape {tuple(edge_index.shape)}")
        if weight is not None and weight.shape != edge_index.shape[1:]:
            raise ValueError("weights that do not fit their edges")
        graphs.append(Graph.from_edge_index(places(edge_index, n), weight, n))
    kinds = state["relations"]
    relations = kinds and Relations(dict(zip(map(str, kinds), graphs, strict=True)), n)
    graph = relations.union if relations else graphs[0]
    task = unanswered(np.zeros((2, 0), dtype=np.int64), np.zeros((n, 1)), n)
    return replace(task, x=x, graph=graph, relations=relations, ids=tuple(ids))


def unanswered(edge_index: Any, x: Any, items: int, **described: Any) -> Task:
    """Nodes or graphs to predict, of numpy's arrays: nothing is known about them."""
    none = np.zeros(0, dtype=np.int64)
    given = {"edge_index": edge_index, "x": x, "y": np.full(items, -1), **described}
    return Task.from_arrays(IN_MEMORY, split=(none, none, none), **given)


def places(values: Tensor, n: int) -> Tensor:
    """Numbers of n nodes that a file holds, checked."""
    wrong = values.dtype != torch.int64
    if wrong or (values.numel() and not 0 <= int(values.min()) <= int(values.max()) < n):
        raise ValueError(f"nodes outside 0 to {n - 1}")
    return values
