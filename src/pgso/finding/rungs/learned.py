"""The rung that is kept, with S learned: one S for all hops, and one S per hop."""

from collections.abc import Iterator

from pgso.finding import learning
from pgso.finding.rungs.rung import FAMILIES, Family, Rung, Search

GAIN = 0.999  # of the leave-one-out loss: what one S does not lower, an S per hop hardly will


def learned(search: Search) -> Iterator[Rung]:
    """S from where the kept rung has it, by the gradient of the leave-one-out loss.

    The S of every hop start from the S that all of them learned together.
    """
    problem, start = search.problem, search.incumbent
    letters = {letter.S for word in start.words for letter in word.letters}
    if problem.kind != "node" or len(letters) != 1 or len(problem.train) < learning.FEWEST:
        return
    name, complexity = f"{start.rung.name}, S learned", start.rung.complexity
    S = learning.learn(problem, start.words, start.fit, search.learning_rows)
    words = learning.with_S(start.words, S)
    yield Rung(name, "learned", words, complexity + 1)
    hops = max(len(word.letters) for word in words)
    if hops > 1 and search.loss(name) < GAIN * search.loss(start.rung.name):
        S = learning.learn(problem, words, start.fit, search.learning_rows, per_hop=True)
        yield Rung(f"{name} per hop", "learned", learning.with_S(words, S), complexity + 2)


FAMILIES.register("learned")(Family(9, learned, learns=True))
