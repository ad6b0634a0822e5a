"""Rungs: the candidates of ``find``, from no graph at all to a learned S.

A family is a generator of rungs and a sentence about a rung of it that is kept. Families of smaller
rank come first. Another package adds a family with an entry point of the group ``pgso.rungs``.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, NamedTuple, Protocol

from torch import Tensor

from pgso.finding import learning
from pgso.finding.blocks import LABEL_PATHS, Letter, Word
from pgso.finding.problem import Problem
from pgso.gso.parameters import PRESETS
from pgso.records.finding import GraphStatistics, RungRecord
from pgso.registry import Registry

if TYPE_CHECKING:
    from pgso.finding.ladder import Fitted

NO_GRAPH = "no graph"
HOPS = {1: "1 hop", 2: "2 hops", 3: "3 hops"}
GCN, GIN = "gcn, 2 hops", "gin, 2 hops"  # what a network of two layers sees: the references
# gat is gin, zeros is nothing; Laplacians are differences, which are of use once.
ONCE = tuple(name for name in PRESETS if name not in ("gcn", "gat", "zeros"))
TWICE = tuple(name for name in ONCE if "laplacian" not in name)
SUMS = ("adjacency", "gin", "signless_laplacian")
IN_BANKS = ("gcn", "mean", "adjacency", "quarter", "three_quarters", "transition")
GOES_ON = 3  # of the banks of one hop, this many are tried with two
FEW_OPERATORS = ("gcn", "mean", "adjacency", "quarter")  # where every operator is many blocks
DEEPER = 0.99  # of the loss without a graph: two hops are tried only where one helped
MOST_RELATIONS = 8  # those with the most edges get a block: a block costs as much as a rung
HELPS = 0.999  # of the leave-one-out loss: what one S does not lower, an S per hop hardly will
# Adjusted homophily: above the first, neighbours are clearly of the same class, ...
ALIKE, UNLIKE, OPPOSED = 0.2, 0.1, -0.1  # below the last of other classes


@dataclass(frozen=True)
class Rung:
    """Blocks with weights of their own."""

    name: str
    family: str
    words: tuple[Word, ...]
    complexity: int  # of two rungs that are equally good, the one with less is kept
    adds: tuple[str, ...] = ()  # families whose columns were added, and whose sentences follow


class Search(Protocol):
    """What a family may look at while it names its rungs."""

    problem: Problem
    incumbent: "Fitted"  # the rung that is kept, with its fit; only families that learn may ask

    @property
    def learning_rows(self) -> Tensor:
        """The training labels that families may learn S on; they do not judge what is learned."""

    def loss(self, name: str) -> float:
        """The leave-one-out error of a rung that was already named; infinite if it was skipped."""


class Context(NamedTuple):
    """What a sentence about the kept rung may refer to."""

    gain: str  # over GCN's own operator, in brackets; empty: none that can be seen
    gained: float  # the same as a number, positive where it is better
    graph: GraphStatistics
    rest: str  # what the best other rung could gain, in brackets
    over: str  # the rung that it was climbed from
    direction: bool  # whether it beats the best rung that ignores direction

    @property
    def homophily(self) -> float:
        """Adjusted homophily of the known labels; 0 where it says nothing."""
        return self.graph.adjusted_homophily or 0.0

    @property
    def who(self) -> str:
        """A sentence about neighbours, where they are clearly alike or clearly not."""
        if UNLIKE > self.homophily > OPPOSED:
            return ""
        what = "alike" if self.homophily > 0 else "of other classes"
        return f"Neighbours are {what}. "


def plain_sentence(rung: RungRecord, context: Context) -> str:
    """The sentence of a family that has no other one."""
    return f"The rung {rung.name!r} predicts best: {', '.join(rung.blocks)}{context.gain}."


class Family(NamedTuple):
    """Rungs of one kind: simple families first.

    A rung that the generator ``rungs`` yields is fitted before the next one is asked for, so that
    it may go on with what did well. A family that ``learns`` is asked after the climb, and
    challenges the rung that is kept with a ``risk`` of its own. ``says`` is the sentence about it.
    """

    rank: int
    rungs: Callable[[Search], Iterator[Rung]]
    learns: bool = False
    says: Callable[[RungRecord, Context], str] = plain_sentence
    risk: float = 0.005
    called: str = ""  # in a verdict; by default as it is registered


def features(search: Search) -> Iterator[Rung]:
    """X, the features alone: where every ladder begins."""
    yield Rung(NO_GRAPH, "features", (Word(),), complexity=0)


def _features_say(rung: RungRecord, context: Context) -> str:
    is_many = context.graph.num_graphs > 1
    what = "the features of nodes, or how many there are" if is_many else "the features"
    cannot = f"we cannot show that the graph adds anything{context.rest}"
    gain = context.gain if context.gained > 0 else ""
    return f"Labels follow {what}{gain}: {cannot}, so the simplest stays, no graph."


def own(search: Search) -> Iterator[Rung]:
    """γx, γ²x and γ³x of GCN's γ, and of GIN's for graph tasks, as networks of layers propagate."""
    for preset in ("gcn", "gin") if search.problem.kind == "graph" else ("gcn",):
        for hops in (1, 2, 3):
            words = (Word((Letter.of(preset),) * hops),)
            yield Rung(f"{preset}, {HOPS[hops]}", "own", words, complexity=1)


def _own_says(rung: RungRecord, context: Context) -> str:
    homophily, why = context.homophily, "What surrounds a node tells its label"
    if context.graph.num_graphs > 1:
        why = "What surrounds their nodes tells the graphs apart"
    elif homophily >= UNLIKE:
        why = "Neighbours are alike"
    elif homophily < OPPOSED and rung.hops > 1:
        why = "Neighbours differ, their neighbours are alike"
    return f"{why}: {rung.terms[0].upper()}'s own operator is right."


def presets(search: Search) -> Iterator[Rung]:
    """γx and γ²x for every other preset, without a block for the node itself."""
    for name in ONCE:
        if name == "gin" and search.problem.kind == "graph":
            continue  # one of ``own``
        for hops in (1, 2) if name in TWICE else (1,):
            words = (Word((Letter.of(name),) * hops),)
            yield Rung(f"{name}, {HOPS[hops]}", "presets", words, complexity=2)


def _presets_say(rung: RungRecord, context: Context) -> str:
    preset = rung.terms[0]
    if preset in SUMS:
        reason = "Degrees matter: use sums instead of means"
    elif "laplacian" in preset:
        reason = "Differences to the neighbours matter, not their mean"
    else:  # none of these has a self-loop, which GCN's has
        opposed = context.homophily < OPPOSED
        who = "Neighbours are of other classes, and help" if opposed else "Neighbours help"
        who = who if rung.hops == 1 else "Neighbours of neighbours help"
        reason = f"{who}, without the node itself and with other weights for hubs than GCN's"
    twice = "" if rung.hops == 1 else ", twice"
    return f"{reason}{context.gain}; use the preset {preset}{twice}."


def structure(search: Search) -> Iterator[Rung]:
    """[x, degrees, core numbers, clustering and PageRank]."""
    if search.problem.graph.num_edges:
        words = (Word(), Word(of="structure"))
        yield Rung("self + structure", "structure", words, complexity=2)


def _structure_says(rung: RungRecord, context: Context) -> str:
    if rung.family != "structure":
        return "Degrees and other columns of the graph's structure add to that."
    is_many = context.graph.num_graphs > 1
    what = "The structure of a graph" if is_many else "The place of a node in the graph"
    return f"{what} matters: {', '.join(rung.blocks)}{context.gain}."


def banks(search: Search) -> Iterator[Rung]:
    """[x, γx], of the best three [x, γx, γ²x], and of the best one [x, ..., γ³x]."""
    tried = list(IN_BANKS)
    for hops in (1, 2, 3):
        for name in tried:
            letter = Letter.of(name)
            words = tuple(Word((letter,) * k) for k in range(hops + 1))
            yield Rung(f"self + {name}, {HOPS[hops]}", "banks", words, complexity=2 + hops)
        tried.sort(key=lambda name: search.loss(f"self + {name}, {HOPS[hops]}"))
        tried = tried[: GOES_ON if hops == 1 else 1]


def _banks_say(rung: RungRecord, context: Context) -> str:
    terms, blocks, gain = " + ".join(rung.terms), ", ".join(rung.blocks), context.gain
    is_near = [b[-2:] == " x" and not set(b[:-2]) & set(" ²³⁴⁵⁶⁷⁸⁹") for b in rung.blocks]
    if rung.hops > 1 and not any(is_near):
        has_loops = rung.S is not None and (rung.S[2] != 0 or rung.S[6] != 0)
        if rung.hops == 2 and not has_loops and context.homophily < ALIKE:
            return f"The signal is two hops away, not next door: {blocks}{gain}."
        return f"{context.who}What lies within {rung.hops} hops counts: {blocks}{gain}."
    if "self" not in rung.terms:  # the node itself turned out to be of no use
        return f"{context.who}Each hop needs weights of its own: {blocks}{gain}."
    return f"{context.who}A node and its neighbours need weights of their own: {terms}{gain}."


def moments(search: Search) -> Iterator[Rung]:
    """Of graph tasks [x, γx, x ∘ x, x ∘ γx, γx ∘ γx]; of the best one also γ²x and its products."""
    if search.problem.kind != "graph":
        return

    def rung(name: str, hops: int) -> Rung:
        powers = [(Letter.of(name),) * k for k in range(hops + 1)]
        words = [Word(letters) for letters in powers] + [Word(letters, "x") for letters in powers]
        words += [Word(letters, "itself") for letters in powers[1:]]
        text = f"self + {name} + moments, {HOPS[hops]}"
        return Rung(text, "moments", tuple(words), complexity=3 + hops)

    yield from _deeper(search, rung, best=1, helped=math.inf)


def _deeper(
    search: Search, rung: Callable[[str, int], Rung], best: int, helped: float = DEEPER
) -> Iterator[Rung]:
    """A rung of one hop for each of few operators, and of two hops for the best that helped."""
    tried = {name: rung(name, 1) for name in FEW_OPERATORS}
    yield from tried.values()
    for name in sorted(FEW_OPERATORS, key=lambda name: search.loss(tried[name].name))[:best]:
        if search.loss(tried[name].name) < helped * search.loss(NO_GRAPH):
            yield rung(name, 2)


def _moments_say(rung: RungRecord, context: Context) -> str:
    terms = " + ".join(rung.terms)
    return f"How alike neighbours are tells the graphs apart: {terms} with moments{context.gain}."


def directions(search: Search) -> Iterator[Rung]:
    """[x, γ_in x, γ_out x], and of the best two also the products of two such operators."""
    if search.problem.graph.is_undirected:
        return

    def rung(name: str, hops: int) -> Rung:
        ways = Letter.of(name, "in"), Letter.of(name, "out")
        words = (Word(letters) for k in range(hops + 1) for letters in product(ways, repeat=k))
        text = f"self + {name} in + out, {HOPS[hops]}"
        return Rung(text, "directions", tuple(words), complexity=2 + 2 * hops)

    yield from _deeper(search, rung, best=2)


def _directions_say(rung: RungRecord, context: Context) -> str:
    ways = {term.partition("@")[2] for term in rung.terms} - {""}
    terms = " + ".join(rung.terms)
    if not context.direction:
        need = f"A node and its neighbours need weights of their own: {terms}{context.gain}."
        return f"{need} We cannot show that direction matters."
    what = "give each its own weights" if len(ways) > 1 else "follow the edges one way"
    return f"Direction matters: {what}, {terms}{context.gain}."


def relations(search: Search) -> Iterator[Rung]:
    """[x, γ_r x of every kind r of edges], and of the best one also γ_r² x."""
    kinds = search.problem.relations
    if kinds is None or search.problem.kind != "node" or len(kinds.graphs) < 2:
        return
    by_size = sorted(kinds.graphs, key=lambda name: -kinds.graphs[name].num_edges)

    def rung(preset: str, hops: int) -> Rung:
        letters = [Letter.of(preset, name) for name in by_size[:MOST_RELATIONS]]
        powers = (Word((letter,) * k) for k in range(1, hops + 1) for letter in letters)
        text = f"self + {preset} per relation, {HOPS[hops]}"
        return Rung(text, "relations", (Word(), *powers), complexity=2 + 2 * hops)

    yield from _deeper(search, rung, best=1)


def _relations_say(rung: RungRecord, context: Context) -> str:
    terms = " + ".join(rung.terms)
    return f"Kinds of edges matter: give each its own weights, {terms}{context.gain}."


def learned(search: Search) -> Iterator[Rung]:
    """S from where the kept rung has it, by the gradient of the leave-one-out loss.

    One S for all hops, then one S per hop, which start from the S that they learned together.
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
    if hops > 1 and search.loss(name) < HELPS * search.loss(start.rung.name):
        S = learning.learn(problem, words, start.fit, search.learning_rows, per_hop=True)
        yield Rung(f"{name} per hop", "learned", learning.with_S(words, S), complexity + 2)


def _learned_says(rung: RungRecord, context: Context) -> str:
    of_hops = " of every hop" if rung.S_per_hop else ""
    over = f"better than {context.over}" if context.over else "better than its preset"
    blocks = f": {', '.join(rung.blocks)}" if len(rung.blocks) > 1 else ""
    return f"{context.who}A learned S{of_hops} fits this graph {over}{blocks}{context.gain}."


def labels(search: Search) -> Iterator[Rung]:
    """The kept rung beside the labels one hop away, and beside those one and two hops away."""
    problem, start = search.problem, search.incumbent
    if problem.kind != "node" or not problem.graph.num_edges:
        return
    words, ways = tuple[Word, ...](), ("any",) if problem.graph.is_undirected else ("in", "out")
    for hops, path in LABEL_PATHS.items():
        paths = [tuple(Letter.of(preset, way) for preset in path) for way in ways]
        words = (*words, *(Word(letters, of="labels") for letters in paths))
        yield _extended(start, f"labels, {HOPS[hops]}", "labels", words)


def structure_beside(search: Search) -> Iterator[Rung]:
    """The kept rung beside degrees, core numbers, clustering and PageRank."""
    start = search.incumbent
    if search.problem.graph.num_edges and start.rung.family != "structure":
        yield _extended(start, "structure", "structure", (Word(of="structure"),))


def _extended(start: "Fitted", name: str, family: str, words: tuple[Word, ...]) -> Rung:
    rung, every = start.rung, (*start.words, *words)
    if rung.name == NO_GRAPH:
        return Rung(f"self + {name}", family, every, rung.complexity + 1)
    adds = (*rung.adds, family)
    return Rung(f"{rung.name} + {name}", rung.family, every, rung.complexity + 1, adds)


def _labels_say(rung: RungRecord, context: Context) -> str:
    if rung.family != "labels":
        return "The labels of neighbours add to that."
    said = f"The labels of neighbours tell what features do not: {rung.name}{context.gain}."
    return f"{context.who}{said}"


FAMILIES: Registry[Family] = Registry(
    "family of rungs",
    {
        "features": Family(0, features, False, _features_say, called="no graph"),
        "own": Family(1, own, False, _own_says, called="a network's own operator"),
        "presets": Family(2, presets, False, _presets_say, called="another operator in its place"),
        "structure": Family(3, structure, False, _structure_says, called="the graph's structure"),
        "banks": Family(4, banks, False, _banks_say, called="weights for each hop"),
        "moments": Family(5, moments, False, _moments_say, called="moments of neighbours"),
        "directions": Family(6, directions, False, _directions_say, called="both directions"),
        "relations": Family(7, relations, False, _relations_say, called="kinds of edges"),
        "learned": Family(8, learned, True, _learned_says, called="a learned S"),
        "labels": Family(9, labels, True, _labels_say, called="labels of neighbours"),
        "structure beside": Family(10, structure_beside, learns=True),
    },
    plugins="pgso.rungs",
)
