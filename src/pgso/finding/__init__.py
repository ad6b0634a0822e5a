"""Which operator a graph wants: ridge regression in closed form, climbed only on evidence.

How a search goes:

1. ``problem`` is a task whose features are prepared; ``scaling`` scales them.
2. ``rungs`` names the candidates. A *rung* is a set of *words*; a word is a product of *letters*
   applied to x, such as γ_1 γ_2 x; a letter is one operator (``propagation``).
3. ``blocks`` computes the features of every word, ``ridge`` fits the labels to them and has the
   exact leave-one-out predictions, ``scores`` turns these into losses and scores.
4. ``ladder`` fits all rungs and climbs from the simplest; ``evidence`` says whether a challenger is
   really better. ``learning`` learns S for the rung that is kept.
5. ``verdict`` says what it means, ``advice`` what to do; ``summary`` puts all of it into a record,
   ``predictor`` predicts on other graphs.
"""

from pgso.finding.finding import Finding, find

__all__ = ["Finding", "find"]
