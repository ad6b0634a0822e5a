"""The rung that is kept, with S learned: one S for all hops, and one S per hop."""

from collections.abc import Iterator

from pgso.finding import learning
from pgso.finding.rungs.rung import FAMILIES, Family, Rung, Search


def learned(search: Search) -> Iterator[Rung]:
    """S from where the kept rung has it, by the gradient of the leave-one-out loss."""
    problem, start = search.problem, search.incumbent
    letters = {letter.S for word in start.words for letter in word.letters}
    if problem.kind != "node" or len(letters) != 1 or len(problem.train) < learning.FEWEST:
        return
    hops = max(len(word.letters) for word in start.words)
    ways = (("S learned", False), ("S learned per hop", True))
    for name, per_hop in ways if hops > 1 else ways[:1]:
        S = learning.learn(problem, start.words, start.fit, search.learning_rows, per_hop)
        words = learning.with_S(start.words, S)
        complexity = start.rung.complexity + (2 if per_hop else 1)
        yield Rung(f"{start.rung.name}, {name}", "learned", words, complexity)


FAMILIES.register("learned")(Family(9, learned, learns=True))
