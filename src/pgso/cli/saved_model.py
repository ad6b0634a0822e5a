"""A saved model, and data that it can be applied to."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pgso.cli import choices
from pgso.cli.terminal import Console
from pgso.errors import InputError
from pgso.objectives import OBJECTIVES
from pgso.records import RunSpec

if TYPE_CHECKING:
    from pgso.data import Task
    from pgso.models.gnn import GNN
    from pgso.models.links import LinkModel


class SavedModel(NamedTuple):
    """A network, how it was trained, and a task whose columns are in the order it knows."""

    network: "GNN | LinkModel"
    spec: RunSpec
    header: dict[str, Any]
    task: "Task"
    is_trained_here: bool  # whether the task is the one that it was trained on


def open_model(
    model: Path, dataset: str, options: list[str] | None, data: Path | None
) -> SavedModel:
    """Load a model and data for it; the data may be without labels, and of another graph."""
    from pgso.data import DATASETS
    from pgso.data.load import OWN, load_task
    from pgso.training.base import on_base
    from pgso.training.checkpoint import fitted, load_model, preparation_of

    network, spec, header = load_model(model)
    asked = choices.make_spec(dataset, None, options)
    path = Path(dataset).expanduser()
    is_own_file = asked.dataset not in DATASETS and (path.is_dir() or path.suffix.lower() in OWN)
    unlabelled = is_own_file and path.suffix.lower() != ".npz"
    # A user's folders are read alike, and a dataset as the model saw it.
    alike = asked.dataset == spec.dataset or (is_own_file and spec.dataset not in DATASETS)
    given = {
        **asked.data_options,
        **(spec.data_options if alike else {}),
        **choices.pairs(options),
    }
    load = partial(load_task, asked.dataset, data, spec.seed, task=spec.task)
    load = partial(load, preparation=preparation_of(header, model))
    try:
        task = load(**given)
    except InputError:
        if not unlabelled:
            raise
        # Its labels may be missing, or too few to learn from; which were learned does not matter.
        given = {k: v for k, v in given.items() if k not in ("target", "metric", "positive")}
        task = load(**given, unlabelled=True)
    task = on_base(task, spec.base)
    unnamed = header.get("columns") is None or task.columns is None
    task = fitted(header, task)
    objective = header.get("objective", task.metric)
    if tuple(header["classes"]) == task.classes and OBJECTIVES[objective].answer == task.answer:
        task = task.scored_by(objective).with_positive(header.get("positive"))
    if unnamed and asked.dataset != spec.dataset:
        Console(stderr=True, markup=False).print(
            "note: columns have no names, so they are read as the columns of "
            f"{spec.dataset}, in that order",
            soft_wrap=True,
        )
    return SavedModel(network, spec, header, task, _is_same(asked.dataset, spec.dataset))


def _is_same(name: str, other: str) -> bool:
    """Whether two words for data are the same name, or two ways to the same folder."""
    if name == other:
        return True
    paths = [Path(word).expanduser() for word in (name, other)]
    return all(path.exists() for path in paths) and paths[0].samefile(paths[1])
