"""How a model is right and wrong at its chosen epoch, for its record."""

from torch import Tensor

from pgso.data.description import MOST_EDGES, cells_of, sketched_items
from pgso.drawing import chosen_nodes
from pgso.evaluation.scores import evaluation_of
from pgso.records.data import Cell
from pgso.records.evaluation import Evaluation
from pgso.training.session import Session, take_best


def evaluate(session: Session) -> Evaluation | None:
    """Counts and curves of the test set, or of validation where there is no test set.

    The model has the weights of its best epoch afterwards. None without such an epoch.
    """
    if not session.best_weights:
        return None
    take_best(session)
    out, _ = session.evaluate()
    outputs, answers = (
        {part: rows.numpy(force=True) for part, rows in session.scoring.by_part(values).items()}
        for values in (out, session.scoring.y)
    )
    task = session.task
    positive = None if task.positive is None else task.classes.index(task.positive)
    names = task.targets or task.classes
    evaluation = evaluation_of(task.answer, outputs, answers, names, positive)
    return evaluation.model_copy(update={"sketched": _sketched(session, out)})


def _sketched(session: Session, out: Tensor) -> tuple[Cell, ...]:
    """What is predicted of the nodes that a page draws; None of those that have no score."""
    task = session.task
    if task.answer not in ("class", "value") or task.graph.num_edges > MOST_EDGES:
        return ()
    edges = task.graph.edge_index.numpy(force=True)
    items = sketched_items(task, chosen_nodes(edges, task.graph.num_nodes))
    rows = {int(item): row for row, item in enumerate(session.scoring.scored)}
    values = out.cpu().argmax(dim=1) if task.answer == "class" else out.cpu()
    cells = cells_of(values, task.classes)
    return tuple(cells[rows[item]] if item in rows else None for item in items.tolist())
