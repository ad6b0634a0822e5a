"""Does it work at all? What speaks against a result, in sentences, from records alone."""

from collections.abc import Iterator, Sequence
from statistics import fmean

from pgso.data.tables.table import MISSING
from pgso.objectives import Objective
from pgso.records import RunRecord
from pgso.records.data import (
    BOOSTED,
    BOOSTED_GRAPH,
    FEATURES,
    FINGERPRINTS,
    GRAPH,
    GUESS,
    DataRecord,
)
from pgso.records.finding import FindingRecord
from pgso.report.about import mean_baselines
from pgso.report.differences import by_operator
from pgso.report.words import LABELS, has_command

FEW_SEEDS = 5
FEW = 10  # training examples of a class
LARGE = 100.0  # a feature that makes training unstable, where others are near 1


def doubts(records: Sequence[RunRecord], data: Sequence[DataRecord]) -> list[str]:
    """What to know before believing the scores of the runs of one setting; best if empty."""
    done = [record for record in records if record.status == "done" and record.test is not None]
    said = _of_scores(done, data) if done else []
    diverged = sum(record.status == "diverged" for record in records)
    largest = max((record.largest_feature for record in data), default=0.0)
    if diverged and largest > LARGE:
        said.append(
            f"training diverged in {diverged} of {len(records)} runs, and the largest feature "
            f"is {largest:.3g}: give the columns mean 0 and standard deviation 1 (a features.csv "
            'is, unless columns.json says "as is")'
        )
    last = sum(record.epoch == record.spec.epochs - 1 for record in done)
    if last > len(done) / 2:
        longer, is_typed = 4 * done[0].spec.epochs, has_command(done[0].spec)
        said.append(
            f"the best epoch was the last one in {last} of {len(done)} runs: validation "
            "was still improving; train longer with "
            f"{f'--epochs {longer}' if is_typed else f'epochs={longer}'}"
        )
    return [*said, *(_of_data(data[0]) if data else ())]


def doubts_of_finding(finding: FindingRecord) -> list[str]:
    """The same for what ``find`` keeps."""
    best, data, objective = finding.kept, finding.data, finding.objective
    said, lacks = [], ["trees"] if finding.head == "boosted" else []
    for word, noun in (("labels", "labels of neighbours"), ("structure", "structural columns")):
        lacks += [noun] if any(word in block for block in best.blocks) else []
    if lacks:
        what = f"a network of it has no {' and no '.join(lacks)}, and may score lower"
        said.append(f"use the closed form (--save): {what}")
    if data is None:
        return said
    spread, guess = data.baseline(GRAPH), data.baseline(GUESS)
    if best.test is not None and finding.signal != "neither":
        # A model of features alone: another one that is as good says nothing.
        without = FEATURES if best.family == "features" else None
        merit = objective.merit(best.test)
        said += _not_better(merit, [data], objective, "what find keeps is no", without)
    elif spread is not None and guess is not None and finding.kind != "graph":
        # The verdict says that features say nothing; the labels of neighbours may.
        parts = ((spread.val, guess.val), (spread.test, guess.test))
        if all(None not in p and objective.merit(p[0]) > objective.merit(p[1]) for p in parts):
            said.append(
                f"{spread.label.removesuffix(', no features')} alone score "
                f"{objective.written(spread.test)} on test: the graph says what these features do "
                "not; try find without them"
            )
    return [*said, *_of_data(data)]


def _of_scores(records: Sequence[RunRecord], data: Sequence[DataRecord]) -> list[str]:
    """Scores of several classes, no better than baselines, or than the closed form of ``find``."""
    said, objective, spec = [], records[0].objective, records[0].spec
    positives = sorted({record.positive for record in records if record.positive is not None})
    if len(positives) > 1:
        said.append(
            f"seeds score different classes ({' and '.join(positives)}), because another one is "
            f"rarer in their training labels; name one with --option positive={positives[0]}"
        )
    guesses = {one.spec.seed: guess.test for one in data if (guess := one.baseline(GUESS))}
    says_classes = objective.answer == "class" and objective.name != "roc_auc"
    if says_classes and all(run.test == guesses.get(run.spec.seed) for run in records):
        said.append("every model predicts one class: it scores as well as guessing that class")
    elif guesses:
        means = (fmean(run.test or 0.0 for run in runs) for runs in by_operator(records).values())
        best = max(map(objective.merit, means))
        # A node's own columns get weights of their own in a residual network.
        remedy = "--set residual=true" if has_command(spec) else "residual=True"
        more = (": it has learned nothing", "pgso find" if spec.residual else remedy)
        said += _not_better(best, data, objective, "no network is", None, *more)
    forms = [(run, run.closed_form) for run in records if run.closed_form is not None]
    scores = [(run.val, run.test, *closed) for run, closed in forms if None not in closed]
    if scores:
        columns = zip(*scores, strict=True)
        val, test, own_val, own_test = (fmean(one or 0.0 for one in column) for column in columns)
        is_worse = objective.merit(val) < objective.merit(own_val)
        if is_worse and objective.merit(test) < objective.merit(own_test):  # both must say it
            said.append(
                "the closed form of what find keeps does better "
                f"({objective.written(own_test)} on test) than this network "
                f"({objective.written(test)}): use pgso find with --save"
            )
    return said


def _not_better(
    best: float,
    data: Sequence[DataRecord],
    objective: Objective,
    who: str,
    without: str | None = None,
    nothing: str = "",
    remedy: str = "",
) -> Iterator[str]:
    """The simplest baseline that is as good as the best model, and the best one, in words."""
    rivals = {entry.name: entry for entry in mean_baselines(data) if entry.name != without}
    label = rivals[GRAPH].label.removesuffix(", no features") if GRAPH in rivals else ""
    sentences = {
        GUESS: f"{who} better than guessing",
        FEATURES: "a model without the graph does as well or better",
        GRAPH: f"{label} without features do as well or better",
        BOOSTED: "gradient boosting without the graph does as well or better",
        BOOSTED_GRAPH: "gradient boosting with means of neighbours does as well or better",
        FINGERPRINTS: "a random forest on fingerprints of molecules does as well or better",
    }
    ends = {GUESS: nothing, FEATURES: remedy and f"; try {remedy}"}
    scores = {name: rivals[name].test for name in sentences if name in rivals}
    merits = {name: objective.merit(s) for name, s in scores.items() if s is not None}
    as_good = [name for name, merit in merits.items() if merit >= best]
    if not as_good:
        return
    after, top = ends.get(as_good[0], ""), max(as_good, key=lambda name: merits[name])
    if merits[top] > merits[as_good[0]]:
        after += f"; best of all is {rivals[top].label} ({objective.written(scores[top])})"
    yield f"{sentences[as_good[0]]} ({objective.written(scores[as_good[0]])}){after}"


def _of_data(record: DataRecord) -> Iterator[str]:
    for entry in record.classes:
        if entry.name.lower() in MISSING:
            yield (
                f"a class is called {entry.name!r}; if that stands for labels that are not known, "
                "leave their cells empty"
            )
    rare = min(record.classes, key=lambda entry: entry.train, default=None)
    if rare is not None and rare.train < FEW:
        plural = "" if rare.train == 1 else "s"
        noun = "class" if record.answer == "class" else "label"
        yield (
            f"the {noun} {rare.name!r} has {rare.train} training example{plural}: its scores "
            "are mostly luck"
        )


def nothing_found(record: RunRecord) -> bool:
    """Whether a run of what ``find`` found has found nothing: it has no answer for such data."""
    return record.spec.operator == "found" and record.status == "done" and record.rung is None


def notes_on(
    given: Sequence[RunRecord], runs: Sequence[RunRecord], has_reference: bool
) -> Iterator[str]:
    """What ended badly, is not paired or was not run, of all runs and those that are compared."""
    for record in runs:
        name = f"{LABELS[record.spec.operator]}, seed {record.spec.seed}"
        if record.status == "failed":
            yield f"{name} failed and is left out: {record.error or 'no reason was recorded'}"
        elif record.status == "diverged" and record.test is None:
            yield f"{name} diverged before it had a score and is left out: {record.error}"
        elif record.status == "diverged":
            yield f"{name} diverged; its best epoch before that counts: {record.error}"
    scored = by_operator(record for record in runs if record.test is not None)
    seeds = {name: {run.spec.seed for run in group} for name, group in scored.items()}
    fixed = seeds.pop("fixed", set())
    for operator, own in seeds.items() if fixed else ():
        if unpaired := sorted(own ^ fixed):
            noun = "seed {} is" if len(unpaired) == 1 else "seeds {} are"
            yield (
                f"{noun.format(', '.join(map(str, unpaired)))} not in the comparison of "
                f"{LABELS[operator]} with fixed: scored with one of the two only"
            )
    paired = min((len(own & fixed) for own in seeds.values() if own & fixed), default=FEW_SEEDS)
    if paired == 1:
        yield "one seed gives no interval: nothing can be said about chance"
    elif paired < FEW_SEEDS:
        yield f"only {paired} seeds: the intervals rest on few differences"
    spec, names = given[0].spec, {record.spec.operator for record in given}
    if not {"fixed", "pgso"} <= names or not has_command(spec):  # not a comparison of ours
        return
    if "mpgso" not in names and spec.num_layers == 1:
        yield "mPGSO was not run: the network has one layer, and there mPGSO is PGSO"
    if any(map(nothing_found, given)):
        yield "found was not run: pgso find has no answer for such labels"
    elif "found" not in names and spec.task == "link":
        yield "found was not run: pgso find has no answer for links"
    elif "found" not in names and spec.terms is not None:
        yield "found was not run: the terms were given, so there was nothing to find"
    if not has_reference:
        why = "this one is as strong already" if spec.stronger is None else "it was not asked for"
        yield f"no stronger fixed network was run: {why}"
