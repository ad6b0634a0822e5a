"""Records of data, made by hand: the numbers are the test's own."""

from pgso.records import RunSpec
from pgso.records.data import BaselineRecord, ClassCount, DataRecord, data_spec

MUST_BEAT = (
    BaselineRecord(name="guess", label="most frequent class", val=0.5, test=0.6),
    BaselineRecord(name="features", label="logistic regression, no graph", val=0.7, test=0.7),
    BaselineRecord(name="graph", label="neighbours' labels, no features", val=0.7, test=0.8),
)


def make_data(seed=0, dataset="toy", **more) -> DataRecord:
    """A graph of 100 nodes with two classes, one of them rare."""
    fields = {
        "spec": data_spec(RunSpec(dataset=dataset, seed=seed)),
        "metric": "accuracy",
        "kind": "node",
        "answer": "class",
        "num_graphs": 1,
        "num_nodes": 100,
        "num_edges": 400,
        "is_directed": False,
        "is_weighted": False,
        "degree_min": 0.0,
        "degree_median": 3.5,
        "degree_mean": 4.0,
        "degree_max": 12.0,
        "isolated": 2,
        "components": 3,
        "largest_component": 98,
        "num_items": 100,
        "num_labelled": 60,
        "num_train": 30,
        "num_val": 15,
        "num_test": 15,
        "classes": (
            ClassCount(name="stays", train=22, val=12, test=11),
            ClassCount(name="leaves", train=8, val=3, test=4),
        ),
        "adjusted_homophily": 0.42,
        "num_features": 7,
        "features": "numbers",
        "baselines": MUST_BEAT,
    }
    return DataRecord(**(fields | more))
