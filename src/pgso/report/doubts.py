"""Does it work at all? What speaks against a result, in sentences, from records alone."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import fmean

from pgso.data.tables.table import MISSING
from pgso.objectives import Objective
from pgso.records import RunRecord
from pgso.records.data import FEATURES, GRAPH, GUESS, DataRecord
from pgso.records.finding import FindingRecord
from pgso.report.about import mean_baselines

FEW = 10  # training examples of a class
LARGE = 100.0  # a feature that makes training unstable, where others are near 1


def doubts(records: Sequence[RunRecord], data: Sequence[DataRecord]) -> list[str]:
    """What to know before believing the scores of some runs; nothing if all is well.

    Args:
        records: Runs of one setting.
        data: What is known about their data, one per seed.
    """
    done = [record for record in records if record.status == "done" and record.test is not None]
    diverged = _of_divergence(records, data)
    about = [*_of_classes(done), *_of_scores(done, data)]
    return [*about, *diverged, *_of_training(done), *_of_data(data)]


def doubts_of_finding(finding: FindingRecord) -> list[str]:
    """The same for what ``find`` keeps."""
    best, data = finding.kept, finding.data
    if data is None:
        return []
    if best.test is None or finding.signal == "neither":  # the verdict says it then
        return [*_of_neighbours(finding, data), *_of_data([data])]
    objective = finding.objective
    merit, who = objective.merit(best.test), "what find keeps"
    # A rung without the graph is such a model itself: that another one does as well says nothing.
    rivals = [_without_features(data)] if best.family == "features" else [data]
    return [*_not_better(merit, rivals, objective, who), *_of_data([data])]


def _of_neighbours(finding: FindingRecord, data: DataRecord) -> Iterator[str]:
    """Where features say nothing, the labels of neighbours may."""
    objective, spread, guess = finding.objective, *map(data.baseline, (GRAPH, GUESS))
    if spread is None or guess is None or finding.kind == "graph":
        return
    parts = ((spread.val, guess.val), (spread.test, guess.test))
    if all(None not in p and objective.merit(p[0]) > objective.merit(p[1]) for p in parts):
        yield (
            f"{spread.label.removesuffix(', no features')} alone score "
            f"{objective.written(spread.test)} on test: the graph says what these features do not; "
            "try find without them"
        )


def _without_features(data: DataRecord) -> DataRecord:
    """The same data without the baseline that sees the features alone."""
    others = tuple(entry for entry in data.baselines if entry.name != FEATURES)
    return data.model_copy(update={"baselines": others})


def _of_classes(records: Sequence[RunRecord]) -> Iterator[str]:
    positives = sorted({record.positive for record in records if record.positive is not None})
    if len(positives) > 1:
        yield (
            f"seeds score different classes ({' and '.join(positives)}), because another one is "
            f"rarer in their training labels; name one with --option positive={positives[0]}"
        )


def _of_scores(records: Sequence[RunRecord], data: Sequence[DataRecord]) -> Iterator[str]:
    guesses = {
        record.spec.seed: guess.test
        for record in data
        if (guess := record.baseline(GUESS)) is not None
    }
    if not records or not guesses:
        return
    objective = records[0].objective
    by_operator: dict[str, list[float]] = defaultdict(list)
    for record in records:
        assert record.test is not None
        by_operator[record.spec.operator].append(record.test)
    best = max(objective.merit(fmean(scores)) for scores in by_operator.values())
    says_classes = objective.answer == "class" and objective.name != "roc_auc"
    if says_classes and all(run.test == guesses.get(run.spec.seed) for run in records):
        yield "every model predicts one class: it scores as well as guessing that class"
        return
    # A node's own columns get weights of their own in a residual network.
    remedy = "pgso find" if records[0].spec.residual else "--set residual=true"
    yield from _not_better(best, data, objective, "no network", remedy)


def _not_better(
    best: float, data: Sequence[DataRecord], objective: Objective, who: str, remedy: str = ""
) -> Iterator[str]:
    """The simplest baseline that is as good as the best model, in words."""
    rivals = mean_baselines(data)
    scores = {entry.name: entry.test for entry in rivals}
    labels = {entry.name: entry.label for entry in rivals}

    def is_as_good(name: str) -> bool:
        score = scores.get(name)
        return score is not None and best <= objective.merit(score)

    def written(name: str) -> str:
        return objective.written(scores[name])

    if is_as_good(GUESS) and who == "no network":
        yield f"no network is better than guessing ({written(GUESS)}): it has learned nothing"
    elif is_as_good(GUESS):
        yield f"{who} is no better than guessing ({written(GUESS)})"
    elif is_as_good(FEATURES):
        advice = f"; try {remedy}" if remedy else ""
        yield f"a model without the graph does as well or better ({written(FEATURES)}){advice}"
    elif is_as_good(GRAPH):
        what = labels[GRAPH].removesuffix(", no features")
        yield f"{what} without features do as well or better ({written(GRAPH)})"


def _of_divergence(records: Sequence[RunRecord], data: Sequence[DataRecord]) -> Iterator[str]:
    diverged = [record for record in records if record.status == "diverged"]
    largest = max((record.largest_feature for record in data), default=0.0)
    if diverged and largest > LARGE:
        yield (
            f"training diverged in {len(diverged)} of {len(records)} runs, and the largest feature "
            f"is {largest:.3g}: give the columns mean 0 and standard deviation 1 (a features.csv "
            'is, unless columns.json says "as is")'
        )


def _of_training(records: Sequence[RunRecord]) -> Iterator[str]:
    last = [record for record in records if record.epoch == record.spec.epochs - 1]
    if records and len(last) > len(records) / 2:
        epochs = records[0].spec.epochs
        yield (
            f"the best epoch was the last one in {len(last)} of {len(records)} runs: validation "
            f"was still rising; train longer with --epochs {4 * epochs}"
        )


def _of_data(data: Sequence[DataRecord]) -> Iterator[str]:
    for record in data[:1]:
        if not record.classes:
            return
        for entry in record.classes:
            if entry.name.lower() in MISSING:
                yield (
                    f"a class is called {entry.name!r}; if that stands for labels that are not "
                    "known, leave their cells empty"
                )
        rare = min(record.classes, key=lambda entry: entry.train)
        if rare.train < FEW:
            plural = "" if rare.train == 1 else "s"
            noun = "class" if record.answer == "class" else "label"
            yield (
                f"the {noun} {rare.name!r} has {rare.train} training example{plural}: its scores "
                "are mostly luck"
            )
