"""Section 5.2: does it matter where the operator starts? (Figures 3 and 6)."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from pgso.gso.parameters import NAMES
from pgso.records import RunRecord, RunSpec
from pgso_studies.published import ENDS_ON_CORA
from pgso_studies.study import EXPERIMENTS, Experiment, Size
from pgso_studies.summaries import (
    LINES,
    Pick,
    figure_of,
    group,
    legend_beside,
    mean_and_spread,
    mean_curve,
    named_curve,
    panels,
    parameter_curve,
    save,
    scores,
    table,
)

SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#6b7280")  # Okabe and Ito, and grey
PRINTED = {"m": "D", "e": "s", "a": "D"}  # m1 and e1 have one colour, and so have the others
# What the network around S is like. The paper does not say where its bias is; the published curve
# from zeros can only come from one inside the linear map.
VARIANTS: dict[str, dict[str, str]] = {
    "": {},  # bias after γ, no norm
    "bias inside the linear map": {"bias": "inside"},
    "batch norm": {"norm": "batch"},
    "bias inside, batch norm": {"bias": "inside", "norm": "batch"},
}
STARTS = ("gcn", "adjacency", "random_walk_laplacian", "symmetric_laplacian", "zeros")


class Initialisations(Experiment):
    """GCN-PGSO on Cora from five starting points, 150 epochs each."""

    title = "Where the operator starts"
    paper = "Figures 3 and 6"
    curves = ("train", "val", "parameters")

    def runs(self, size: Size, done: Mapping[str, RunRecord]) -> list[RunSpec]:
        """Five presets in four networks, ten seeds, three layers as in Section 5.1."""
        del done
        if size == Size.QUICK:
            template, seeds = RunSpec(dataset="karate", epochs=8, hidden_channels=8), range(2)
        else:
            template, seeds = RunSpec(dataset="Cora", epochs=150, num_layers=3), range(10)
        return [
            template.but(preset=start, seed=seed, **variant)
            for variant in VARIANTS.values()
            for start in STARTS
            for seed in seeds
        ]

    def page(self, records: Sequence[RunRecord], figures: Path) -> str:
        """S from each start, accuracy curves, and where S ends."""
        by_variant = group(records, lambda record: variant_of(record.spec), VARIANTS)
        shown = []
        for name, runs in by_variant.items():
            if name in ("", "bias inside the linear map"):  # the paper's figures, both ways
                mark = "_bias_inside" if name else ""
                shown.append(_trajectories(runs, figures, f"figure_3{mark}"))
                shown.append(_accuracy(runs, figures, f"figure_6{mark}"))
        rows = []
        for name, members in by_variant.items():
            for start, runs in _by_start(members).items():
                ends = zip(*map(end_of, runs), strict=True)
                means = [sum(column) / len(column) for column in ends]
                cells = [mean_and_spread(scores(runs, part)) for part in ("val", "test")]
                called = name or "bias after γ"
                rows.append((called, start, *cells, *(f"{value:.2f}" for value in means)))
        header = ["network", "start", "val", "test", *(f"{name} at the end" for name in NAMES)]
        figures_of = "\n\n".join(shown)
        return (
            f"# {self.title} ({self.paper})\n\nGCN-PGSO on {records[0].spec.dataset}, "
            f"{records[0].spec.epochs} epochs, means over the seeds. Laplacians hold the "
            "identity in m3, as in the paper's Table 1; its Figure 3 looks as if they held it in "
            "m1 D^0. The first two figures have the bias after γ, the others inside the linear "
            "map, γ (H W + b). γ and -γ make the same networks, with the weights of the other "
            "sign; from zeros either may come out, so these runs are shown with the sign that "
            f"makes m2 positive.\n\n{figures_of}\n\n"
            f"{table(header, rows)}\n\n{_from_zeros(by_variant)}"
            f"{self.footer('initialisations', records)}"
        )


def variant_of(spec: RunSpec) -> str:
    """The name of the network around S, see :data:`VARIANTS`."""
    return next(
        name
        for name, choices in VARIANTS.items()
        if spec == spec.but(**{"bias": "after", "norm": None, **choices})
    )


def sign_of(record: RunRecord) -> int:
    """-1 where S starts at zeros and ends with m2 below 0, else 1.

    -γ with -W is γ with W. From zeros the first steps choose one of them by chance, so that
    the mean of signed values over runs says nothing.
    """
    m2 = record.curves["parameters"][-1][0][NAMES.index("m2")]
    return -1 if record.spec.preset == "zeros" and m2 < 0 else 1


def end_of(record: RunRecord) -> list[float]:
    """S of the first operator after the last epoch, m1, m2 and m3 times :func:`sign_of`."""
    return _turned(record.curves["parameters"][-1][0], sign_of(record))


def _turned(S: Sequence[float], sign: int) -> list[float]:
    return [sign * value if name[0] == "m" else value for name, value in zip(NAMES, S, strict=True)]


def _from_zeros(by_variant: Mapping[str, Sequence[RunRecord]]) -> str:
    """How the runs from zeros end, by the signs of m2 and m3; empty if none moves."""
    lines = []
    for name, members in by_variant.items():
        moved = [r for r in members if r.spec.preset == "zeros" and any(end_of(r)[:3])]
        by_sign = group(moved, lambda r: end_of(r)[NAMES.index("m3")] < 0, (False, True))
        said = [
            f"{len(runs)} of {len(moved)} runs end with m2 and m3 of {kind} "
            f"(test {mean_and_spread(scores(runs))})"
            for is_opposite, runs in by_sign.items()
            for kind in ["opposite signs, as a Laplacian" if is_opposite else "one sign"]
        ]
        if said:
            lines.append(f"- From zeros, {name or 'bias after γ'}: {'; '.join(said)}.\n")
    return "".join(lines)


def _by_start(records: Sequence[RunRecord]) -> dict[str, list[RunRecord]]:
    return group(records, lambda record: str(record.spec.preset), STARTS)


def _trajectories(records: Sequence[RunRecord], figures: Path, name: str) -> str:
    """Figure 3: S over the epochs, from each start."""
    by_start = _by_start(records)
    axes = panels(len(by_start))
    for axis, (start, runs) in zip(axes, by_start.items(), strict=True):
        for scalar in NAMES:
            epochs, mean, _ = mean_curve(runs, _trajectory(scalar))
            axis.plot(epochs, mean, label=scalar, **LINES[scalar])
            if runs[0].spec.dataset == "Cora" and start in ENDS_ON_CORA:
                end, colour = ENDS_ON_CORA[start][NAMES.index(scalar)], LINES[scalar]["color"]
                axis.plot(epochs[-1], end, PRINTED[scalar[0]], markersize=4, clip_on=False,
                          markerfacecolor="none", markeredgecolor=colour)  # fmt: skip
        axis.set(title=start.replace("_", " "), xlabel="epoch", ylabel="value of S")
    legend_beside(axes[-1], "hollow: the paper's ends,\nread off Figure 3\n(e1, e2, e3: squares)")
    return save(figure_of(axes), figures, name)


def _trajectory(scalar: str) -> Pick:
    pick = parameter_curve(0, scalar)

    def turned(record: RunRecord) -> tuple[list[int], list[float]]:
        epochs, values = pick(record)
        sign = sign_of(record) if scalar[0] == "m" else 1
        return epochs, [sign * value for value in values]

    return turned


def _accuracy(records: Sequence[RunRecord], figures: Path, name: str) -> str:
    """Figure 6: accuracy over the epochs, from each start."""
    by_start = _by_start(records)
    axes = panels(2, width=3.0, height=2.4)
    for axis, part in zip(axes, ("train", "val"), strict=True):
        for start, colour in zip(by_start, SERIES, strict=False):
            epochs, mean, _ = mean_curve(by_start[start], named_curve(part))
            label = start.replace("_", " ")
            axis.plot(epochs, 100 * mean, label=label, linewidth=1.2, color=colour)
        axis.set(xlabel="epoch", ylabel=f"{part} accuracy, %")
    legend_beside(axes[-1], "start")
    return save(figure_of(axes), figures, name)


EXPERIMENTS.register("initialisations")(Initialisations())
