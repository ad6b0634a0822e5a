"""Records as a run would leave them, made by hand: the numbers are the test's own."""

from collections.abc import Mapping, Sequence

from pgso.records import RunRecord, RunSpec

GCN = (0.0, 1.0, 0.0, 0.0, -0.5, -0.5, 1.0)
MOVED = (0.2, 0.8, -0.1, 0.1, -0.4, -0.6, 1.5)


def make_record(operator, seed, test, val=None, *, epochs=4, directed=False, **more) -> RunRecord:
    """S goes from GCN to MOVED in equal steps, the interval from (-1, 1) outwards."""
    spec = RunSpec(**{"dataset": "toy", "operator": operator, "seed": seed, "epochs": epochs}
                   | more.pop("choices", {}))  # fmt: skip
    layers = 2 if operator == "mpgso" else 1
    moved = operator not in ("fixed",)
    steps = [(k + 1) / epochs if moved else 0.0 for k in range(epochs)]
    S = [tuple(p + s * (q - p) for p, q in zip(GCN, MOVED, strict=True)) for s in steps]
    curves = {
        "loss": [2.0 - k / epochs for k in range(epochs)],
        "train": [None] * epochs,
        "val": [val if val is not None else test] * epochs,
        "test": [test] * epochs,
        "parameters": [[each] * layers for each in S],
        "interval": [] if directed else [[(-1.0 - s, 1.0 + s)] * layers for s in steps],
    }
    fields = {
        "val": test if val is None else val,
        "test": test,
        "epoch": epochs - 1,
        "start": (GCN,) * layers,
        "start_interval": () if directed else ((-1.0, 1.0),) * layers,
        "parameters": (S[-1],) * layers,
        "nearest": (("gcn", 0.25),) * layers,
        "curves": curves,
        "versions": {"pgso": "0.1.0", "torch": "2.13.0"},
        "timing": {"seconds": 1.5},
    }
    return RunRecord(spec=spec, **(fields | more))


def make_runs(scores: Mapping[str, Sequence[float]], **more) -> list[RunRecord]:
    """One record per operator and seed, seeds counted from 0."""
    return [
        make_record(operator, seed, test, **more)
        for operator, tests in scores.items()
        for seed, test in enumerate(tests)
    ]


THREE = {
    "fixed": [0.70, 0.72, 0.69, 0.71],
    "pgso": [0.78, 0.81, 0.79, 0.80],
    "mpgso": [0.85, 0.88, 0.86, 0.87],
}
