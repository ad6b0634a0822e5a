import pickle

import networkx
import numpy as np
import pytest
import scipy.sparse
import torch
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import pgso
from pgso import Graph, PGSOClassifier
from pgso.data import load_task
from pgso.data.inputs import read_labels
from pgso.errors import InputError
from pgso.estimators import estimator
from pgso.training.fit import fit_task

CLUB = networkx.karate_club_graph()
LABELS = np.array([CLUB.nodes[member]["club"] for member in CLUB])
EDGES = Graph.from_networkx(CLUB, weight=None).edge_index
KNOWN = np.zeros(34, dtype=bool)
KNOWN[[0, 1, 2, 3, 33, 32, 31, 30, 29]] = True


def small(**options) -> PGSOClassifier:
    return PGSOClassifier(**{"epochs": 15, "hidden_channels": 8, "lr": 0.05, **options})


def hidden(labels, unknown) -> np.ndarray:
    y = np.asarray(labels).astype(object)
    y[~KNOWN] = unknown
    return y


@pytest.fixture(scope="module")
def fitted():
    return small().fit(EDGES, None, hidden(LABELS, None))


def test_it_learns_from_few_labels_and_predicts_words(fitted):
    assert fitted.classes_.tolist() == ["Mr. Hi", "Officer"]
    assert fitted.predict().shape == (34,)
    assert set(fitted.predict()) == {"Mr. Hi", "Officer"}
    assert fitted.score(y=LABELS) > 0.85
    assert fitted.score() == np.mean(fitted.predict()[KNOWN] == LABELS[KNOWN])


def test_probabilities_are_probabilities_and_agree_with_the_prediction(fitted):
    probabilities = fitted.predict_proba()
    assert probabilities.shape == (34, 2)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-5)
    assert (fitted.classes_[probabilities.argmax(axis=1)] == fitted.predict()).all()


@pytest.mark.parametrize(
    ("operator", "number"), [("fixed", 1), ("pgso", 1), ("mpgso", 2), ("auto", None)]
)
def test_the_learned_operator_is_there(operator, number):
    model = small(operator=operator, epochs=4).fit(EDGES, None, hidden(LABELS, None))
    assert model.operator_ == tuple(pgso.PGSOParameters(*S) for S in model.record_.parameters)
    assert number in (None, len(model.operator_))
    if operator != "auto":
        assert (model.operator_[0] == pgso.PRESETS["gcn"]) == (operator == "fixed")


def test_a_bank_takes_terms():
    model = small(conv="bank", terms=("self", "mean", "gcn"), operator="fixed", epochs=2)
    model.fit(EDGES, None, hidden(LABELS, None))
    assert model.operator_ == (pgso.PRESETS["mean"], pgso.PRESETS["gcn"])


GRAPHS = {
    "Graph": Graph.from_edge_index(EDGES),
    "tensor": EDGES,
    "array": EDGES.numpy(),
    "lists": EDGES.tolist(),
    "scipy": networkx.to_scipy_sparse_array(CLUB, weight=None),
    "matrix": scipy.sparse.csr_matrix(networkx.to_scipy_sparse_array(CLUB, weight=None)),
    "networkx": networkx.create_empty_copy(CLUB),
}
GRAPHS["networkx"].add_edges_from(CLUB.edges())


@pytest.mark.parametrize("kind", GRAPHS)
def test_every_kind_of_graph_is_the_same_graph(fitted, kind):
    again = small().fit(GRAPHS[kind], None, hidden(LABELS, None))
    np.testing.assert_array_equal(again.predict_proba(), fitted.predict_proba())
    np.testing.assert_array_equal(fitted.predict(GRAPHS[kind]), fitted.predict())


LABELLINGS = {
    "words": hidden(LABELS, None),
    "words and NaN": hidden(LABELS, np.nan),
    "words and -1": hidden(LABELS, -1),
    "words as numpy makes them": np.array([str(label) for label in hidden(LABELS, -1)]),
    "integers": hidden((LABELS == "Officer").astype(int), -1).astype(int),
    "floats": hidden((LABELS == "Officer").astype(float), np.nan).astype(float),
    "large numbers": hidden(np.where(LABELS == "Officer", 900, 7), -1).astype(np.int64),
    "booleans": hidden(LABELS == "Officer", None),
    "a list": hidden(LABELS, None).tolist(),
    "a tensor": torch.tensor(hidden((LABELS == "Officer").astype(int), -1).astype(int)),
}


@pytest.mark.parametrize("kind", LABELLINGS)
def test_labels_of_any_type_give_the_same_model(fitted, kind):
    y = LABELLINGS[kind]
    model = small().fit(EDGES, None, y)
    np.testing.assert_array_equal(model.predict_proba(), fitted.predict_proba())
    assert len(model.classes_) == 2
    assert set(model.predict().tolist()) <= set(model.classes_.tolist())
    assert model.score() == fitted.score()


def test_dense_and_sparse_features_agree():
    task = load_task("minesweeper", rows=8, cols=8)
    x, y = task.x.numpy(), task.y.numpy().copy()
    y[task.test.numpy()] = -1
    dense = small(epochs=5, norm="batch").fit(task.graph, x, y)
    sparse = small(epochs=5, norm="batch").fit(task.graph, scipy.sparse.coo_array(x), y)
    assert dense.n_features_in_ == sparse.n_features_in_ == 7
    np.testing.assert_allclose(dense.predict_proba(), sparse.predict_proba(), rtol=1e-4)


def test_it_predicts_on_another_graph():
    train, other = (load_task("minesweeper", rows=8, cols=8, seed=seed) for seed in (0, 1))
    model = small().fit(train.graph, train.x.numpy(), train.y.numpy())
    out = model.predict_proba(other.graph, scipy.sparse.csr_array(other.x.numpy()))
    np.testing.assert_allclose(
        out, model.predict_proba(other.graph.edge_index, other.x.numpy()), rtol=1e-4, atol=1e-6
    )
    assert not np.allclose(out, model.predict_proba())
    assert 0 <= model.score(other.graph, other.x.numpy(), other.y.numpy()) <= 1


def test_the_same_random_state_gives_the_same_model_and_another_another(fitted):
    y = hidden(LABELS, None)
    again = small(random_state=0).fit(EDGES, None, y)
    np.testing.assert_array_equal(again.predict_proba(), fitted.predict_proba())
    assert again.record_.without_times() == fitted.record_.without_times()
    other = small(random_state=np.random.RandomState(3)).fit(EDGES, None, y)
    assert not np.allclose(other.predict_proba(), fitted.predict_proba())


def test_some_of_each_class_validate(fitted):
    train, val, test = fitted._split(read_labels(hidden(LABELS, None))[1], np.random.RandomState(0))
    assert sorted([*train, *val]) == np.flatnonzero(KNOWN).tolist()
    assert set(LABELS[val]) == set(LABELS[train]) == {"Mr. Hi", "Officer"}
    assert len(test) == 0


def test_it_follows_scikit_learns_conventions(fitted):
    model = PGSOClassifier(epochs=7, preset=(0, 1, 0, 0, 0, 0, 0))
    assert model.get_params()["epochs"] == 7
    assert clone(model).get_params() == model.get_params()
    assert model.set_params(epochs=9) is model
    assert model.epochs == 9
    with pytest.raises(ValueError, match="Invalid parameter 'layers'"):
        model.set_params(layers=3)
    unfitted = clone(fitted)
    assert not hasattr(unfitted, "record_")
    for method in ("predict", "predict_proba", "score"):
        with pytest.raises(NotFittedError):
            getattr(unfitted, method)()


@pytest.mark.parametrize("conv", ["gcn", "sgc", "gat", "gin"])
def test_it_survives_pickling(conv):
    options = {"hidden_channels": 16} if conv == "gat" else {}
    model = small(conv=conv, epochs=3, **options).fit(EDGES, None, hidden(LABELS, None))
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(), model.predict_proba())
    assert again.operator_ == model.operator_


Y = hidden(LABELS, None)
WRONG = {
    "one class": (lambda: small().fit(EDGES, None, [1] * 34), "two classes or more, got 1"),
    "one label each": (lambda: small().fit(EDGES, None, [0, 1, *[-1] * 32]), "one validates"),
    "rows": (lambda: small().fit(EDGES, np.ones((33, 2)), Y), "X has 33 rows, y has 34 labels"),
    "nodes": (lambda: small().fit(GRAPHS["scipy"], None, [0, 1] * 10), "34 nodes, but"),
    "edge": (lambda: small().fit(EDGES, None, [0, 1] * 10), "names node 33"),
    "nan": (lambda: small().fit(EDGES, np.full((34, 2), np.nan), Y), "X: features hold nan"),
    "words in X": (lambda: small().fit(EDGES, [["a"]] * 34, Y), "X must be numbers"),
    "ragged X": (lambda: small().fit(EDGES, [[1], [2, 3]], Y), "X is not an array"),
    "a word for a graph": (lambda: small().fit("karate", None, Y), "graph must be a pgso.Graph"),
    "y as a table": (lambda: small().fit(EDGES, None, np.ones((34, 2))), "one label per node"),
    "mixed y": (lambda: small().fit(EDGES, None, [1, "a", None] * 11 + [2]), "must be of one type"),
    "fraction": (lambda: small(validation_fraction=1).fit(EDGES, None, Y), "between 0 and 1"),
    "a word": (lambda: small(validation_fraction="a").fit(EDGES, None, Y), "between 0 and 1"),
    "conv": (lambda: small(conv="gnc").fit(EDGES, None, Y), "no conv is called 'gnc'"),
    "epochs": (lambda: small(epochs=0).fit(EDGES, None, Y), "epochs cannot be 0"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_wrong_input_is_answered_by_one_sentence(what):
    call, sentence = WRONG[what]
    with pytest.raises(InputError, match=sentence) as error:
        call()
    assert "\n" not in str(error.value)


def test_prediction_refuses_what_does_not_fit(fitted):
    with pytest.raises(InputError, match="X has 3 columns, the model takes 34"):
        fitted.predict(X=np.ones((34, 3)))
    with pytest.raises(InputError, match="34 rows; give one row per node"):
        fitted.predict(scipy.sparse.eye_array(5))
    with pytest.raises(InputError, match="y has 2 labels, the graph 34 nodes"):
        fitted.score(y=["Officer", "Mr. Hi"])
    with pytest.raises(InputError, match="no known label"):
        fitted.score(y=[-1] * 34)
    described = small(epochs=1).fit(EDGES, np.eye(34), hidden(LABELS, None))
    with pytest.raises(InputError, match="another graph needs its own X"):
        described.predict(EDGES)


def poison_at(epoch, monkeypatch) -> None:
    def poison(session):
        if session.epoch == epoch:
            with torch.no_grad():
                session.model.operators[0].m2.fill_(np.nan)

    def poisoned_fit(spec, task):
        return fit_task(spec.but(lr=1e30) if epoch == 0 else spec, task, watch=poison)

    monkeypatch.setattr(estimator, "fit_task", poisoned_fit)


def test_training_that_diverges_keeps_its_best_epoch_and_says_so(monkeypatch):
    poison_at(3, monkeypatch)
    with pytest.warns(ConvergenceWarning, match="became nan in epoch 3, .*; what is kept is epoch"):
        model = small().fit(EDGES, None, Y)
    assert np.isfinite(model.predict_proba()).all()


def test_training_without_one_finite_epoch_is_an_error(monkeypatch):
    poison_at(0, monkeypatch)
    with pytest.raises(InputError, match=r"training failed: .* in epoch 0, .*; try a smaller lr"):
        small(preset=(0, 1e30, 0, 0, 20, 20, 1)).fit(EDGES, None, Y)


def test_predictions_are_made_on_the_graph_that_was_trained_on():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 120)
    source = rng.integers(0, 120, 400)
    target = np.array([rng.choice(np.flatnonzero(y == y[i])) for i in source])
    x = rng.normal(size=(120, 4)) + 0.3 * (2 * y - 1)[:, None]
    edges = np.stack([source, target])
    model = PGSOClassifier(operator="found", epochs=20, random_state=0).fit(edges, x, y)
    assert model.record_.network["base"] == model.base_ == "undirected"
    graph = pgso.bases.undirected(model.graph_)
    with torch.no_grad():
        expected = model.model_(model.x_, graph).argmax(1)
    assert model.predict().tolist() == model.classes_[expected.numpy()].tolist()
