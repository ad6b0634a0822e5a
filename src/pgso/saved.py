"""Saved models on disk: safetensors and JSON, nothing that could run code.

A saved model is a *header* (plain data) and *tensors*. A path that ends in ``.safetensors`` is one
file, with the header in its metadata. Any other path is a folder of ``model.json`` and
``weights.safetensors``. What is claimed in a header is checked before memory is taken for it.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from pgso.data.task import Task
from pgso.errors import InputError
from pgso.records.files import free_name, write_beside

HEADER, WEIGHTS = "model.json", "weights.safetensors"
LARGEST_HEADER = 2**26  # bytes
State = tuple[dict[str, Tensor], dict[str, Any]]  # tensors by name, and plain data


def write_model(path: str | os.PathLike[str], tensors: Mapping[str, Tensor], header: Any) -> None:
    """Write a model whole or not at all; another model of that name is kept under another one."""
    path = Path(path)
    if path.suffix == ".safetensors":
        write_beside(path, packed(tensors, header))
        return
    check_folder(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}.pgso-"))
    try:
        (made / WEIGHTS).write_bytes(packed(tensors, {}))
        text = json.dumps(header, indent=1, ensure_ascii=False) + "\n"
        (made / HEADER).write_text(text, encoding="utf-8")
        made.chmod(0o755)
        if path.exists() and not _holds(path, made):
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


def _holds(path: Path, made: Path) -> bool:
    """Whether a folder holds the files of another one."""
    return all(
        (path / name).is_file() and (path / name).read_bytes() == (made / name).read_bytes()
        for name in (HEADER, WEIGHTS)
    )


def read_model(path: str | os.PathLike[str]) -> State:
    """The tensors and the header of a saved model."""
    path = Path(path).expanduser()
    if not path.is_dir():
        return unpacked(path)
    if not (path / HEADER).is_file():
        raise InputError(f"there is no saved model in {path}; write one with --save")
    with naming(path):
        if (path / HEADER).stat().st_size > LARGEST_HEADER:
            raise ValueError("its header is too large")
        header = json.loads((path / HEADER).read_text(encoding="utf-8"))
        if not isinstance(header, dict):
            raise ValueError("its header is no dictionary")
    tensors, _ = unpacked(path / WEIGHTS)
    return tensors, header


def size_of(path: Path) -> int:
    """The bytes that a saved model takes."""
    files = [path / HEADER, path / WEIGHTS] if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Say which file is broken, in one sentence."""
    problems = (KeyError, TypeError, ValueError, AttributeError, IndexError, RuntimeError, OSError)
    try:
        yield
    except problems as error:
        reason = f"{type(error).__name__}: {error}"[:200]
        raise InputError(
            f"{path} is not a file that pgso has saved ({reason}); remove it, or write it again"
        ) from None


def packed(tensors: Mapping[str, Tensor], header: Mapping[str, Any]) -> bytes:
    """One safetensors file as bytes."""
    whole = {name: value.detach().contiguous() for name, value in tensors.items()}
    return save(whole, metadata={"pgso": json.dumps(header)})


def unpacked(path: Path) -> State:
    """The tensors and the header of one safetensors file."""
    try:
        with safe_open(path, framework="pt") as file:
            header = json.loads((file.metadata() or {})["pgso"])
            if not isinstance(header, dict):
                raise ValueError("its header is no dictionary")
            # Copies are aligned in memory: sums over other numbers differ in their last digits.
            names = list(file.keys())
            return {name: file.get_tensor(name).clone() for name in names}, header
    except FileNotFoundError:
        raise InputError(f"there is no saved model at {path}; write one with --save") from None
    except (SafetensorError, KeyError, ValueError, OSError, RecursionError) as error:
        reason = f"{error}"[:200]
        raise InputError(
            f"{path} is not a file that pgso has saved ({reason}); remove it, or write it again"
        ) from None


def part_of(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The tensors whose names begin with a word, without it."""
    return {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}


def count_of(value: Any) -> int:
    """A number of things that a header claims."""
    if type(value) is not int or not 0 <= value < 2**40:
        raise ValueError(f"{value!r:.40} is no count")
    return value


@dataclass(frozen=True, eq=False)
class Memory:
    """The graph that a model was fitted on, for new nodes with edges to old ones."""

    ids: tuple[str, ...]
    x: Tensor  # (n, F) as in the task
    edge_index: Tensor
    edge_weight: Tensor | None
    relations: dict[str, tuple[Tensor, Tensor | None]] | None = None

    @classmethod
    def of(cls, task: Task) -> "Memory | None":
        """What there is to remember of a task; None where nodes have no names."""
        if task.kind != "node" or task.ids is None:
            return None
        relations = None
        if task.relations is not None:
            parts = task.relations.graphs.items()
            relations = {name: (g.edge_index, g.edge_weight) for name, g in parts}
        graph = task.graph
        return cls(task.ids, task.x, graph.edge_index, graph.edge_weight, relations)

    def state(self) -> State:
        """As tensors and plain data."""
        ids = json.dumps(self.ids, ensure_ascii=False).encode()
        tensors = {"ids": torch.frombuffer(bytearray(ids), dtype=torch.uint8)}
        tensors |= _edges_state("edges", self.edge_index, self.edge_weight)
        for k, part in enumerate((self.relations or {}).values()):
            tensors |= _edges_state(f"relation/{k}", *part)
        x = self.x.detach().cpu()
        if x.layout == torch.strided:
            tensors["x"] = x
        else:
            index = {"x/rows": x.crow_indices(), "x/columns": x.col_indices()}
            tensors |= {**index, "x/values": x.values()}
        relations = None if self.relations is None else list(self.relations)
        return tensors, {"relations": relations, "columns": x.size(1)}

    @classmethod
    def from_state(cls, tensors: Mapping[str, Tensor], plain: Mapping[str, Any]) -> "Memory":
        """The same again; what does not fit together is refused with a ValueError."""
        ids = json.loads(bytes(tensors["ids"].numpy()).decode())
        if not (isinstance(ids, list) and all(isinstance(name, str) for name in ids)):
            raise ValueError("names of nodes that are no words")
        n, columns = len(ids), count_of(plain["columns"])
        if "x" in tensors:
            x = tensors["x"]
        else:
            rows, places_of, values = (tensors[f"x/{k}"] for k in ("rows", "columns", "values"))
            x = torch.sparse_csr_tensor(
                rows, places_of, values, size=(n, columns), check_invariants=True
            )
        if x.shape != (n, columns):
            raise ValueError(f"{n} nodes have features of shape {tuple(x.shape)}")
        relations = None
        if plain["relations"] is not None:
            named = enumerate(map(str, plain["relations"]))
            relations = {name: _edges_from(tensors, f"relation/{k}", n) for k, name in named}
        return cls(tuple(ids), x, *_edges_from(tensors, "edges", n), relations)


def _edges_state(name: str, edge_index: Tensor, weight: Tensor | None) -> dict[str, Tensor]:
    tensors = {name: edge_index.cpu()}
    return tensors if weight is None else {**tensors, f"{name}/weight": weight.cpu()}


def _edges_from(tensors: Mapping[str, Tensor], name: str, n: int) -> tuple[Tensor, Tensor | None]:
    edge_index, weight = tensors[name], tensors.get(f"{name}/weight")
    if edge_index.dim() != 2 or edge_index.size(0) != 2:
        raise ValueError(f"edges of shape {tuple(edge_index.shape)}")
    places(edge_index, n)
    if weight is not None and weight.shape != edge_index.shape[1:]:
        raise ValueError("weights that do not fit their edges")
    return edge_index, weight


def places(values: Tensor, n: int) -> Tensor:
    """Numbers of n nodes that a file holds, checked."""
    wrong = values.dtype != torch.int64
    if wrong or (values.numel() and not 0 <= int(values.min()) <= int(values.max()) < n):
        raise ValueError(f"nodes outside 0 to {n - 1}")
    return values
