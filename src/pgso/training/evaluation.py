"""How a model is right and wrong at its chosen epoch, for its record."""

from pgso.evaluation.scores import evaluation_of
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
    return evaluation_of(task.answer, outputs, answers, names, positive)
