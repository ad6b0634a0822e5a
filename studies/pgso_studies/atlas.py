"""The atlas: which operator do graphs want? ``find`` on all graphs at hand and on known truths."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean

import numpy as np
from matplotlib.ticker import LogLocator, NullFormatter, ScalarFormatter
from scipy.stats import spearmanr

from pgso.data import DATASETS
from pgso.data.places import data_root
from pgso.objectives import OBJECTIVES
from pgso.records import RunRecord, RunSpec
from pgso.records.finding import FindingRecord, RungRecord
from pgso_studies.ledger import read_ledger
from pgso_studies.planted import WORLDS
from pgso_studies.study import EXPERIMENTS, Experiment, Size
from pgso_studies.summaries import (
    group,
    legend_beside,
    mean_and_interval,
    new_figure,
    save,
    table,
)

GENERATED = "planted"
# Several labels each; graphs of another study; and the generated ones, which are asked by world.
LEFT_OUT = ("blogcatalog", "sbm", GENERATED)
LARGE = ("ogbg-molhiv", "ogbn-arxiv", "ogbn-arxiv-topicbag")  # minutes each, so they come last
TOYS = ("blocks-4-0.9", "random-features", "citations-cited")
SEEDS = 3  # of generated graphs
NEAR = 0.4  # homophily: graphs this close may have labels that touch
COLOURS = {  # Okabe and Ito
    "features": "#999999",
    "own": "#0072B2",
    "presets": "#56B4E9",
    "banks": "#D55E00",
    "moments": "#CC79A7",
    "directions": "#009E73",
    "relations": "#F0E442",
    "learned": "#E69F00",
    "structure": "#332288",
}
OTHER = "#000000"  # families of plug-ins


class Atlas(Experiment):
    """Findings on shipped, downloaded and generated graphs."""

    title = "The atlas: which operator do graphs want?"
    paper = "Beyond the paper: pgso find"

    def runs(self, size: Size, done: Mapping[str, RunRecord]) -> list[RunSpec]:
        """Every dataset whose files are here or that is done, and every generated world."""
        if size == Size.QUICK:
            return [_asks("karate"), *(_asks(GENERATED, world=w, nodes=120) for w in TOYS)]
        names = [name for name in DATASETS if name.lower() not in LEFT_OUT]
        specs = [_asks(DATASETS[name].name) for name in names]
        root = data_root()
        here = [s for s in specs if s.key in done or not DATASETS[s.dataset].missing(root)]
        worlds = [_asks(GENERATED, seed, world=world) for world in WORLDS for seed in range(SEEDS)]
        return sorted([*here, *worlds], key=lambda spec: spec.dataset.lower() in LARGE)

    def page(self, records: Sequence[RunRecord], figures: Path) -> str:
        """Winners, the map, and verdicts against the truth."""
        searched = [record for record in records if record.finding is not None]
        real = [record for record in searched if record.spec.dataset != GENERATED]
        drawn = [record for record in searched if record.spec.dataset == GENERATED]
        shown = save(_map(searched), figures, "atlas")
        findings = {record.spec.dataset: _finding(record) for record in real}
        trained = agreement(findings, trained_runs(figures.parents[1]))
        networks = f"## Trained networks\n\n{trained}\n" if trained else ""
        return (
            f"# {self.title}\n\n`pgso find` on {len(real)} datasets and {len(drawn)} generated "
            "graphs. Each keeps the simplest rung that its labels do not speak against; no network "
            "is trained, and no test label is used before a rung is kept.\n\n"
            f"## Datasets\n\n{_winners(real)}\n\n{_datasets(real)}\n\n"
            "Points are better scores than GCN's own γ²x on the labels that judge, and on the test "
            "set. Agreement is the rank correlation, over the rungs of a dataset, between the "
            f"leave-one-out and the test score.\n\n{networks}## The map\n\n{shown}\n\n"
            f"## Generated graphs: verdict against truth\n\n{_verdicts(drawn)}\n"
            f"{self.footer('atlas', records)}"
        )


def _asks(dataset: str, seed: int = 0, **options: str | int) -> RunSpec:
    return RunSpec(dataset=dataset, seed=seed, head="closed_form", data_options=options)


def agrees(rung: RungRecord, truth: str) -> bool:
    """Whether a kept rung says what was planted, see :class:`pgso_studies.planted.World`.

    ``separate`` is anything on the graph but GCN's own operator, which adds a node to its
    neighbours. ``degrees`` is an operator that does not divide by the degree once, or that adds it.
    """
    if truth == "features":
        return rung.family == "features"
    if rung.S is None:
        return False
    if truth == "direction":
        return rung.family == "directions"
    if truth == "separate":
        return rung.family != "own"
    if truth == "degrees":
        m1, _, _, e1, e2, e3, _ = rung.S
        return e2 + e3 > -0.9 or (m1 != 0 and e1 != 0)
    return rung.family != "directions"


def _finding(record: RunRecord) -> FindingRecord:
    assert record.finding is not None
    return record.finding


def _winners(records: Sequence[RunRecord]) -> str:
    counts = Counter(_best(record).family for record in records)
    by_family = group(records, lambda record: _best(record).family, COLOURS)
    rows = [
        (family, str(counts[family]), ", ".join(record.spec.dataset for record in members))
        for family, members in by_family.items()
    ]
    return table(["family kept", "datasets", "which"], rows)


def _datasets(records: Sequence[RunRecord]) -> str:
    header = ["dataset", "score", "kept rung", "test", "GCN's own", "over GCN's own", "on test",
              "agreement", "homophily", "degree", "labels", "s"]  # fmt: skip
    rows = []
    for record in sorted(records, key=lambda record: record.spec.dataset.lower()):
        finding, best = _finding(record), _best(record)
        reference = finding.rung(finding.reference)
        objective = OBJECTIVES[finding.metric]
        gain = None if reference.points is None else -reference.points
        test = None
        if best.test is not None and reference.test is not None:
            test = objective.merit(best.test) - objective.merit(reference.test)
        homophily = finding.graph.adjusted_homophily
        rows.append(
            (
                record.spec.dataset,
                objective.label,
                best.name,
                objective.written(best.test),
                objective.written(reference.test),
                *(_signed(value, record) for value in (gain, test)),
                _agreement(finding),
                "–" if homophily is None else f"{homophily:.2f}",
                f"{finding.graph.degree_median:g}",
                f"{finding.graph.num_labels:,}",
                f"{finding.seconds:.1f}",
            )
        )
    return table(header, rows)


def _signed(merit: float | None, record: RunRecord) -> str:
    if merit is None:
        return "–"
    return ("+" if merit >= 0 else "-") + record.objective.written(abs(merit))


def _agreement(finding: FindingRecord) -> str:
    pairs = [(r.loo, r.test) for r in finding.rungs if r.loo is not None and r.test is not None]
    if len(pairs) < 3 or any(np.ptp(side) == 0 for side in np.transpose(pairs)):
        return "–"
    return f"{spearmanr(*np.transpose(pairs)).statistic:.2f}"


def _verdicts(records: Sequence[RunRecord]) -> str:
    rows, right = [], 0
    by_world = group(records, lambda record: str(record.spec.data_options["world"]), WORLDS)
    for world, members in by_world.items():
        truth = WORLDS[world].truth
        matches = sum(agrees(_best(record), truth) for record in members)
        right += matches
        names = Counter(_best(record).name for record in members)
        rows.append(
            (
                world,
                truth,
                f"{matches} of {len(members)}",
                "; ".join(f"{name} ({count})" for name, count in names.most_common()),
                mean_and_interval(list(_gains(members))),
            )
        )
    header = ["world", "what was planted", "verdict agrees", "kept rungs", "points on test"]
    return (
        f"The verdict agrees with what was planted on {right} of {len(records)} graphs.\n\n"
        f"{table(header, rows)}\n\nPoints of accuracy over GCN's own γ²x on the test set. {RULES}"
    )


RULES = (
    "`features`: no graph is kept. `neighbours`: a rung on the graph, without directions. "
    "`separate`: one on the graph that is not GCN's own, which adds a node to its neighbours. "
    "`degrees`: an operator that does not divide by the degree. `direction`: both directions with "
    "weights of their own."
)


def _gains(records: Sequence[RunRecord]) -> Iterator[float]:
    for record in records:
        finding, best = _finding(record), _best(record)
        reference = finding.rung(finding.reference)
        if best.test is not None and reference.test is not None:
            yield 100 * (best.test - reference.test)


def _best(record: RunRecord) -> RungRecord:
    finding = _finding(record)
    return finding.rung(finding.best)


def _map(records: Sequence[RunRecord]):  # type: ignore[no-untyped-def]
    """Homophily against degree, a colour for the family that is kept."""
    figure = new_figure(2, width=3.2, height=3.4)
    axes = figure.subplots(1, 2, sharey=True)
    for axis, title, is_drawn in zip(axes, ("datasets", "generated"), (False, True), strict=True):
        for family in dict.fromkeys([*COLOURS, *(_best(record).family for record in records)]):
            members = [
                record
                for record in records
                if (record.spec.dataset == GENERATED) == is_drawn
                and _best(record).family == family
                and _finding(record).graph.adjusted_homophily is not None
            ]
            homophily = [_finding(record).graph.adjusted_homophily for record in members]
            degree = [max(_finding(record).graph.degree_median, 0.5) for record in members]
            colour = COLOURS.get(family, OTHER)
            axis.scatter(homophily, degree, color=colour, label=family, s=20, edgecolor="white")
        axis.set(xlabel="adjusted homophily", title=title, yscale="log")
        axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.yaxis.set_major_formatter(ScalarFormatter())
        axis.yaxis.set_minor_formatter(NullFormatter())
        axis.margins(x=0.12, y=0.1)
    _label(axes[0], [record for record in records if record.spec.dataset != GENERATED])
    axes[0].set_ylabel("median degree (0 is drawn as 0.5)")
    legend_beside(axes[1], "family kept")
    return figure


def _label(axis, records: Sequence[RunRecord]) -> None:  # type: ignore[no-untyped-def]
    """Write names above their points; below where another point is at most a third higher."""
    places = sorted(_places(records), key=lambda place: (place[1], place[0]))
    for k, (h, d, names) in enumerate(places):
        is_below = any(
            d <= other_d < 1.35 * d and abs(other_h - h) < NEAR
            for other_h, other_d, _ in places[k + 1 :]
        )
        shift = (4, -9 if is_below else 3)
        axis.annotate(names, (h, d), xytext=shift, textcoords="offset points", fontsize=6.5)


def _places(records: Sequence[RunRecord]) -> list[tuple[float, float, str]]:
    """Homophily, degree and names; graphs at the same place share a label."""
    places: dict[tuple[float, float], tuple[float, float, list[str]]] = {}
    for record in records:
        graph = _finding(record).graph
        if graph.adjusted_homophily is None:
            continue
        h, d = graph.adjusted_homophily, max(graph.degree_median, 0.5)
        places.setdefault((round(h, 1), d), (h, d, []))[2].append(record.spec.dataset)
    return [(h, d, ", ".join(sorted(names))) for h, d, names in places.values()]


EXPERIMENTS.register("atlas")(Atlas())


STUDIES = ("recipes", "structure")  # whose fixed networks differ in their operators
FEWEST = 3  # networks that make a rank correlation


def trained_runs(results: Path) -> list[RunRecord]:
    """The runs of the studies that stand beside the atlas."""
    ledgers = (results / name / "records.jsonl" for name in STUDIES)
    return [record for ledger in ledgers for record in read_ledger(ledger).values()]


def rung_names(spec: RunSpec) -> Iterator[str]:
    """The rungs that see what a trained network sees, the one with as many hops first.

    A run in closed form is no trained network: it is what ``find`` keeps.

    Example:
        >>> list(rung_names(RunSpec(dataset="Cora", operator="fixed", residual=True)))
        ['self + gcn, 2 hops', 'self + gcn, 1 hop']
    """
    if spec.operator != "fixed" or spec.conv not in ("gcn", "gin", "bank"):
        return
    if spec.head == "closed_form":
        return
    terms = tuple(spec.terms or (spec.preset or spec.conv,))
    if spec.residual and "self" not in terms:
        terms = ("self", *terms)
    presets = {str(term).partition("@")[0] for term in terms if term != "self"}
    if len(presets) != 1:
        return
    name = presets.pop()
    if any("@" in str(term) for term in terms):
        name = f"{name} in + out"
    if "self" in terms:
        name = f"self + {name}"
    for hops in range(min(spec.num_layers, 3), 0, -1):
        yield f"{name}, {hops} hop{'s' if hops > 1 else ''}"


def pairs_of(
    finding: FindingRecord, runs: Sequence[RunRecord]
) -> dict[str, tuple[float, float, int]]:
    """Leave-one-out score and mean test score of every rung that was trained, and its runs."""
    merit = OBJECTIVES[finding.metric].merit
    rungs = {rung.name: rung for rung in finding.rungs}
    by_rung: dict[str, list[float]] = {}
    for run in runs:
        rung = _rung_of(run.spec, rungs, finding.same_as)
        if rung is not None and rung.loo is not None and run.test is not None:
            by_rung.setdefault(rung.name, []).append(merit(run.test))
    return {
        name: (merit(rungs[name].loo), fmean(scores), len(scores))
        for name, scores in by_rung.items()
    }


def agreement(findings: Mapping[str, FindingRecord], runs: Sequence[RunRecord]) -> str:
    """The section of the page; empty where nothing was trained."""
    rows, correlations, centred = [], [], []
    by_dataset = group(runs, lambda run: run.spec.dataset)
    for dataset, members in sorted(by_dataset.items(), key=lambda entry: entry[0].lower()):
        finding = findings.get(dataset)
        pairs = {} if finding is None else pairs_of(finding, members)
        if finding is None or len(pairs) < FEWEST:
            continue
        values = np.array([(loo, test) for loo, test, _ in pairs.values()])
        objective = OBJECTIVES[finding.metric]
        by_loo = max(pairs, key=lambda name: pairs[name][0])
        by_test = max(pairs, key=lambda name: pairs[name][1])
        lost = pairs[by_test][1] - pairs[by_loo][1]
        correlation = (
            spearmanr(values[:, 0], values[:, 1]).statistic if np.ptp(values, 0).all() else 0.0
        )
        correlations.append(float(correlation))
        spread = values.std(axis=0)
        centred.append((values - values.mean(axis=0)) / np.where(spread > 0, spread, 1.0))
        rows.append(
            (
                dataset,
                str(len(pairs)),
                str(sum(count for _, _, count in pairs.values())),
                f"{correlation:.2f}",
                by_loo,
                by_test,
                objective.written(lost),
            )
        )
    if not rows:
        return ""
    together = np.concatenate(centred)
    pooled = float(spearmanr(together[:, 0], together[:, 1]).statistic)
    right = sum(row[4] == row[5] for row in rows)
    header = ["dataset", "networks", "runs", "rank correlation", "best by leave-one-out",
              "best trained", "lost on test"]  # fmt: skip
    return (
        f"Fixed networks of the studies ({', '.join(STUDIES)}), each beside the rung that sees "
        "what it sees: the leave-one-out score of the rung against the mean test score of the "
        f"trained network. Mean rank correlation {fmean(correlations):.2f} over {len(rows)} "
        f"graphs, {pooled:.2f} over all networks together (standardised by graph). The rung with "
        f"the best leave-one-out score is the best network on {right} of {len(rows)}; lost is what "
        f"the best trained network has more.\n\n{table(header, rows)}\n"
    )


def _rung_of(
    spec: RunSpec, rungs: Mapping[str, RungRecord], same_as: Mapping[str, str]
) -> RungRecord | None:
    for name in rung_names(spec):
        rung = rungs.get(same_as.get(name, name))
        if rung is not None:
            return rung
    return None
