"""Which operator a graph wants: ridge regression in closed form, climbed only on evidence.

How a search goes: ``problem`` is a task whose features are prepared (``columns``). ``rungs`` names
the candidates. A *rung* is a set of *words*; a word is a product of *letters* applied to x, such as
γ_1 γ_2 x; a letter is one operator. ``blocks`` computes the features of every
word, and ``ridge`` fits the labels to them, with the exact leave-one-out predictions. ``ladder``
fits all rungs and climbs from the simplest; ``learning`` learns S for the rung that is kept, and
``heads`` may predict in its place. ``verdict`` says what it means; ``summary`` puts all of it into
a record, with what to do; ``predictor`` predicts on other graphs.
"""

from pgso.finding.finding import Finding, find

__all__ = ["Finding", "find"]
