"""Does structure pay, and does learning S pay on top of it? Banks, direction, filters."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any, NamedTuple

from pgso.evaluation.statistics import LEVEL, holm, t_test
from pgso.records import RunRecord, RunSpec
from pgso.records.spec import known_dataset
from pgso_studies.study import EXPERIMENTS, Experiment, Size, best_choice, tuned_runs
from pgso_studies.summaries import group, mean_and_interval, mean_and_spread, table

BATCH = {"norm": "batch"}
DEEPER = {"norm": "batch", "num_layers": 3}
# Epochs are such that the whole study takes about two hours of one core.
GRAPHS: dict[str, dict[str, Any]] = {
    "karate": {"epochs": 150},
    "Texas": {"epochs": 150},
    "Wisconsin": {"epochs": 150},
    "Cora": {"epochs": 150},
    "CiteSeer": {"epochs": 150},
    "Chameleon": {**BATCH, "epochs": 120},
    "Chameleon-filtered": {**BATCH, "epochs": 120},
    "Actor": {"epochs": 120},
    "minesweeper": {"epochs": 100},
    "minesweeper-public": {**DEEPER, "epochs": 100},
    "digits": {"epochs": 150},
    "sbm": {**DEEPER, "epochs": 150, "data_options": {"p": 0.22, "q": 0.11}},
    "Photo": {**BATCH, "epochs": 60},
    "arxiv-2023": {**DEEPER, "epochs": 40},
}
LEARNED = {"operator": "pgso", "s_rate": 0.3, "s_decay": "none"}
FIXED = {"operator": "fixed"}
FIND = "find"  # no network: what pgso.find keeps, in closed form
BANK, DIRECTED = ("self", "gcn"), ("self", "gcn@in", "gcn@out")
QUARTERS = ("self", "quarter@in", "quarter@out")
NORMED = "batch norm"  # ends the names of structures with it, on directed graphs without it
STRUCTURES: dict[str, dict[str, Any]] = {
    "GCN": FIXED,
    "PGSO": {"operator": "pgso"},
    "mPGSO": {"operator": "mpgso"},
    "residual": {**FIXED, "residual": True},
    "residual, learned": {**LEARNED, "residual": True},
    "bank": {**FIXED, "terms": BANK},
    "bank, learned": {**LEARNED, "terms": BANK},
    "bank, -1/4": {**FIXED, "terms": ("self", "quarter")},
    "bank, -1/4, learned": {**LEARNED, "terms": ("self", "quarter")},
    "directed": {**FIXED, "terms": DIRECTED},
    "directed, learned": {**LEARNED, "terms": DIRECTED},
    "directed, -1/4": {**FIXED, "terms": QUARTERS},
    "directed, -1/4, learned": {**LEARNED, "terms": QUARTERS},
    f"residual, {NORMED}": {**FIXED, "residual": True, **BATCH},
    f"bank, {NORMED}": {**FIXED, "terms": BANK, **BATCH},
    f"directed, {NORMED}": {**FIXED, "terms": DIRECTED, **BATCH},
    "filter": {**FIXED, "basis": "chebyshev"},
    "filter, learned": {**LEARNED, "basis": "chebyshev"},
    FIND: {**FIXED, "head": "closed_form"},
}
# Every structure has the same budget: these settings, of which validation chooses one.
SETTINGS: tuple[dict[str, Any], ...] = (
    {"dropout": 0.5, "weight_decay": 5e-4},
    {"dropout": 0.2, "weight_decay": 0.0},
)
SEEDS = {Size.QUICK: 3, Size.FULL: 10}
TUNING_SEEDS = range(2)  # on which all settings are tried


class Question(NamedTuple):
    """One structure against another, and what an answer means."""

    text: str
    one: str
    other: str


QUESTIONS = (
    Question("Does learning S pay in a plain GCN?", "PGSO", "GCN"),
    Question("Does a residual map pay?", "residual", "GCN"),
    Question("Does a bank pay over a residual map?", "bank", "residual"),
    Question("Does learning S pay beside a residual map?", "residual, learned", "residual"),
    Question("Does learning S pay inside a bank?", "bank, learned", "bank"),
    Question("Do exponents of -1/4 pay?", "bank, -1/4", "bank"),
    Question("Does direction pay?", "directed", "bank"),
    Question("Does direction pay with exponents of -1/4?", "directed, -1/4", "bank, -1/4"),
    Question("Does direction pay with batch norm?", f"directed, {NORMED}", f"bank, {NORMED}"),
    Question(
        "Does a bank pay over a residual map with batch norm?",
        f"bank, {NORMED}",
        f"residual, {NORMED}",
    ),
    Question("Does learning S pay beside direction?", "directed, learned", "directed"),
    Question("Does a filter pay over a residual map?", "filter", "residual"),
    Question("Do learned exponents pay under a filter?", "filter, learned", "filter"),
    Question("Is mPGSO as good as a residual map?", "mPGSO", "residual"),
    Question("Is what find keeps, without a network, as good as a residual map?", FIND, "residual"),
)
Scores = dict[int, float]  # test, as the objective shows it, by seed


class Structure(Experiment):
    """Structures on fourteen graphs, tuned alike, paired by seed, and what find says."""

    title = "Structure, and S inside it"
    paper = "Section 3.3 and its extensions: matrix-valued m1, m2, m3, and more than one γ"

    def runs(self, size: Size, done: Mapping[str, RunRecord]) -> list[RunSpec]:
        """First all settings on a few seeds, then the one that validation chose on the others."""
        graphs = GRAPHS
        if size == Size.QUICK:
            graphs = {"karate": {"epochs": 3, "hidden_channels": 8}}
        specs = []
        for name, settings in graphs.items():
            for template in structures(RunSpec(dataset=name, **settings)).values():
                seeds = range(SEEDS[size])
                specs += tuned_runs(template, settings_of(template), TUNING_SEEDS, seeds, done)
        return specs

    def page(self, records: Sequence[RunRecord], figures: Path) -> str:
        """The answers, then all scores, then what they cost."""
        del figures
        scores = scores_by_graph(records)
        answers = answers_of(scores)
        intervals = sum(len(answer.rows) for answer in answers)
        sections = "\n".join(answer.section() for answer in answers if answer.rows)
        rows = [
            [name, *(mean_and_spread(list(by_structure.get(s, {}).values())) for s in STRUCTURES)]
            for name, by_structure in scores.items()
        ]
        return (
            f"# {self.title}\n\nTest scores in points, differences paired by seed with 95 % "
            f"intervals. Every structure is tried with the same {len(SETTINGS)} settings (dropout "
            f"and decay) on {len(TUNING_SEEDS)} seeds; the better one by mean validation score is "
            "run on all of them. The epoch is chosen on validation. *PGSO*, *mPGSO*: S as in the "
            "paper. *Learned*: one S for all layers, at 0.3 of the rate and without decay. "
            "*Directed*: incoming and outgoing edges with weights of their own, exponents -1/2, "
            "where the data have a direction; there *batch norm* is also tried if the network "
            "has none otherwise.\n\n"
            f"## Answers\n\n{answers_table(answers)}\n\n"
            "*Better*, *worse*: on how many graphs the interval leaves out 0, each alone, and with "
            "Holm's correction for all graphs of a question. Two versions of one graph count once. "
            f"There are {intervals} intervals below, of which chance alone puts "
            f"{intervals / 40:.0f} above 0 and as many below.\n\n"
            f"{sections}\n## Scores\n\n{table(['', *STRUCTURES], rows)}\n\n"
            f"## Time\n\n{_times(records)}\n"
            f"{self.footer('structure', records)}"
        )


def structures(template: RunSpec) -> dict[str, RunSpec]:
    """The specs of all structures that make sense on a dataset."""
    has_direction = "undirected" in known_dataset(template.dataset).options
    left_out = [] if has_direction else [DIRECTED, QUARTERS]
    return {
        name: template.but(**choices)
        for name, choices in STRUCTURES.items()
        if choices.get("terms") not in left_out
        and not (name.endswith(NORMED) and (left_out or template.norm == BATCH["norm"]))
    }


def settings_of(spec: RunSpec) -> Sequence[dict[str, Any]]:
    """What is tried: a closed form has neither dropout nor decay, and needs no tuning."""
    return ({},) if spec.head == "closed_form" else SETTINGS


def structure_of(spec: RunSpec) -> str | None:
    """The name of the structure that a spec has."""
    norm = RunSpec(dataset=spec.dataset, **GRAPHS.get(spec.dataset, {})).norm
    for name, choices in STRUCTURES.items():
        if spec == spec.but(**{**PLAIN, "norm": norm, **choices}):
            return name
    return None


PLAIN: dict[str, Any] = {
    name: RunSpec.model_fields[name].default
    for name in ("head", "operator", "s_rate", "s_decay", "residual", "terms", "basis")
}


def scores_of(records: Sequence[RunRecord]) -> dict[str, Scores]:
    """Test scores of every structure in the setting that validation chose."""
    by_key = {record.spec.key: record for record in records}
    scores: dict[str, Scores] = {}
    for name, runs in group(records, lambda r: structure_of(r.spec) or "", STRUCTURES).items():
        if not name:
            continue
        one = runs[0].spec.but(seed=0)
        settings = settings_of(one)
        best = one.but(**(best_choice(one, settings, TUNING_SEEDS, by_key) or settings[0]))
        scores[name] = {
            run.spec.seed: run.objective.shown(run.test)
            for run in runs
            if run.spec.but(seed=0) == best and run.test is not None
        }
    return scores


# Versions of one graph, which count once.
VERSIONS = {"minesweeper-public": "minesweeper", "Chameleon-filtered": "Chameleon"}


def points(scores: Mapping[str, Scores], one: str, other: str) -> list[float]:
    """One structure minus another on a graph, paired by seed."""
    ours, theirs = scores.get(one, {}), scores.get(other, {})
    return [ours[seed] - theirs[seed] for seed in sorted(ours.keys() & theirs.keys())]


class Answer(NamedTuple):
    """One structure minus another on every graph that has both."""

    question: Question
    by_graph: dict[str, list[float]]  # paired differences

    @classmethod
    def of(cls, question: Question, scores: Mapping[str, Mapping[str, Scores]]) -> "Answer":
        """The differences, paired by seed."""
        by_graph = {
            dataset: points(by_structure, question.one, question.other)
            for dataset, by_structure in scores.items()
        }
        return cls(question, {dataset: values for dataset, values in by_graph.items() if values})

    @property
    def rows(self) -> list[list[str]]:
        """The difference on every graph."""
        return [
            [dataset, mean_and_interval(values), str(len(values))]
            for dataset, values in self.by_graph.items()
        ]

    def sure(self, sign: int, together: bool) -> int:
        """On how many graphs the difference surely has this sign, each alone or all together."""
        p_values: Sequence[float | None] = [t_test(values) for values in self.by_graph.values()]
        if together:
            p_values = holm(p_values)
        return len(
            {
                VERSIONS.get(dataset, dataset)
                for (dataset, values), p in zip(self.by_graph.items(), p_values, strict=True)
                if p is not None and p <= 1 - LEVEL and sign * fmean(values) > 0
            }
        )

    def summary(self) -> list[str]:
        """The question, the median of its differences, and on how many graphs it is sure."""
        means = [fmean(values) for values in self.by_graph.values()]
        counts = [self.sure(sign, together) for together in (False, True) for sign in (1, -1)]
        graphs = len({VERSIONS.get(dataset, dataset) for dataset in self.by_graph})
        middle = f"{median(means):+.1f}" if means else ""
        return [self.question.text, middle, *map(str, counts), str(graphs)]

    def section(self) -> str:
        """The difference on every graph."""
        said = f"{self.question.one} minus {self.question.other}"
        return f"## {self.question.text}\n\n{table(['', said, 'pairs'], self.rows)}\n"


def scores_by_graph(records: Sequence[RunRecord]) -> dict[str, dict[str, Scores]]:
    """Test scores of every structure on every graph."""
    by_dataset = group(records, lambda record: record.spec.dataset, GRAPHS)
    return {name: scores_of(runs) for name, runs in by_dataset.items()}


def answers_of(scores: Mapping[str, Mapping[str, Scores]]) -> list[Answer]:
    """All questions answered."""
    return [Answer.of(question, scores) for question in QUESTIONS]


def answers_table(answers: Sequence[Answer]) -> str:
    """A row for each question."""
    headings = ["question", "the median graph", "better", "worse", "better, all tested together",
                "worse, all tested together", "graphs"]  # fmt: skip
    return table(headings, [answer.summary() for answer in answers])


def _times(records: Sequence[RunRecord]) -> str:
    """Median seconds of a run relative to the GCN's on the same dataset, over the datasets."""
    ratios: dict[str, list[float]] = {name: [] for name in STRUCTURES}
    for runs in group(records, lambda record: record.spec.dataset).values():
        seconds = {
            name: median(run.timing.get("seconds", 0.0) for run in members)
            for name, members in group(runs, lambda r: structure_of(r.spec) or "").items()
        }
        for name, value in seconds.items():
            if name and seconds.get("GCN"):
                ratios[name].append(value / seconds["GCN"])
    rows = [[name, f"{median(values):.1f}"] for name, values in ratios.items() if values]
    return table(["structure", "time of a run, GCN's is 1"], rows)


EXPERIMENTS.register("structure")(Structure())
